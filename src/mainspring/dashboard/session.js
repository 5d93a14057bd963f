/** Who looks: an API key, kept for this tab only and forgotten with it. */

const NAME = "mainspring.key";

/** @type {Set<() => void>} */
const listeners = new Set();

/** @returns {string | null} */
export const key = () => sessionStorage.getItem(NAME);

/** @param {string} value */
export function signIn(value) {
  sessionStorage.setItem(NAME, value);
}

/** Forget the key; whoever listens asks for another. */
export function signOut() {
  sessionStorage.removeItem(NAME);
}

/** The server wants a key, or another one. */
export function refused() {
  for (const listener of listeners) listener();
}

/** @param {() => void} listener */
export const onRefused = (listener) => void listeners.add(listener);
