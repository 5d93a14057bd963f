/** Short messages at the edge: what was done, how to undo it, what went wrong. Screen readers read them out. */

import { h } from "./dom.js";

const SHOWN_MS = 7000;
const region = h("div", { class: "toasts", role: "status", "aria-live": "polite" });

export const toasts = region;

/**
 * @param {string} text
 * @param {{undo?: () => void, undoLabel?: string}} [options]
 */
export function tell(text, { undo, undoLabel = "Undo" } = {}) {
  show(h("span", null, text), undo, undoLabel, "");
}

/** @param {unknown} error */
export function complain(error) {
  if (error instanceof DOMException && error.name === "AbortError") return;
  show(h("span", { role: "alert" }, error instanceof Error ? error.message : String(error)), undefined, "", "bad");
}

/**
 * @param {HTMLElement} content
 * @param {(() => void) | undefined} undo
 * @param {string} undoLabel
 * @param {string} kind
 */
function show(content, undo, undoLabel, kind) {
  const act = () => {
    toast.remove();
    undo?.();
  };
  const toast = h(
    "div",
    { class: `toast ${kind}` },
    content,
    undo ? h("button", { type: "button", class: "button quiet", on: { click: act } }, undoLabel) : null,
    h(
      "button",
      { type: "button", class: "button quiet bare", "aria-label": "Dismiss", on: { click: () => toast.remove() } },
      "×",
    ),
  );
  region.append(toast);
  while (region.childElementCount > 4) region.firstElementChild?.remove();
  // What somebody points at or has the focus in stays.
  const leave = () => (toast.matches(":hover, :focus-within") ? setTimeout(leave, SHOWN_MS) : toast.remove());
  setTimeout(leave, SHOWN_MS);
}
