// What the scripts of the page with rooms share.
export const $ = (id) => document.getElementById(id);

export function say(text) {
  $('status').textContent = text;
}

export function show(parts) {
  for (const [id, visible] of Object.entries(parts)) $(id).hidden = !visible;
}

/** Does something for the player, who is told why it fails. */
export async function act(what) {
  try {
    await what();
  } catch (err) {
    say(err.detail || err.message);
  }
}

/** Returns an element with a text. */
export function element(tag, text, more = {}) {
  return Object.assign(document.createElement(tag), { textContent: text, ...more });
}
