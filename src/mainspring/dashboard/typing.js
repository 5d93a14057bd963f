/** Filters that are typed: they count once somebody pauses, and not at all once the page is left. */

import { settled } from "./parts.js";

const PAUSE_MS = 200;

/** @param {(changes: Record<string, string>) => void} filter */
export function typedFilters(filter) {
  /** @type {Record<string, string>} */
  let typed = {};
  const settle = settled(() => {
    const changes = typed;
    typed = {};
    filter(changes);
  }, PAUSE_MS);
  /** What to call when something is typed into the filter of this *name*. @param {string} name */
  const into = (name) => (/** @type {Event} */ event) => {
    typed[name] = /** @type {HTMLInputElement} */ (event.target).value.trim();
    settle.call();
  };
  return { into, end: settle.end };
}
