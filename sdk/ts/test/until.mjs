const patience = 60_000;

/** Waits until a function returns something, and returns that. */
export async function until(what, found) {
  for (const end = Date.now() + patience; ; ) {
    const value = found();
    if (value !== undefined) return value;
    if (Date.now() > end) throw new Error(`no ${what()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
