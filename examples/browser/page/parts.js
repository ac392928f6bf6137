// What the scripts of both pages share.
export const $ = (id) => document.getElementById(id);

export function say(text) {
  $('status').textContent = text;
}

/** Shows or hides elements, by their ids: `{ room: true, hall: false }`. */
export function show(visibleById) {
  for (const [id, visible] of Object.entries(visibleById)) $(id).hidden = !visible;
}

/** Returns a function that gets a token from a path of the login, and a new one when the director refuses the last. */
export function login(path, name) {
  let token;
  return async ({ refresh }) => {
    if (!token || refresh) {
      const answer = await fetch(path, { method: 'POST', body: new URLSearchParams({ name }) });
      if (!answer.ok) throw new Error(await answer.text());
      ({ token } = await answer.json());
    }
    return token;
  };
}

/** Runs an action of the player, and shows why it failed. */
export async function act(action) {
  try {
    await action();
  } catch (err) {
    say(err.detail || err.message);
  }
}

/** Runs an action with the value of a field whenever its form is submitted. */
export function onSubmit(form, field, action) {
  $(form).onsubmit = (event) => {
    event.preventDefault();
    act(() => action($(field).value));
  };
}

/** Returns an element with a text, and with more properties. */
export function element(tag, text, properties = {}) {
  return Object.assign(document.createElement(tag), { textContent: text, ...properties });
}
