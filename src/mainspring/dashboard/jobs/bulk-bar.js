/**
 * What can be done to many jobs at once.
 *
 * @import { Job } from "../types.js"
 */

import { ask, nonce, post } from "../api.js";
import { h } from "../dom.js";
import { number } from "../format.js";
import { button } from "../parts.js";

/** @typedef {{verb: string, title: string, danger?: boolean, picture: string, act: (job: Job) => Promise<unknown>}} BulkAction */

/** @type {BulkAction[]} */
const BULK = [
  {
    verb: "Trigger",
    title: "Trigger",
    picture: "play",
    act: (job) => ask("POST", `jobs/${job.id}/trigger`, { headers: { "Idempotency-Key": nonce() } }),
  },
  { verb: "Pause", title: "Pause", picture: "pause", act: (job) => post(`jobs/${job.id}/pause`) },
  { verb: "Resume", title: "Resume", picture: "resume", act: (job) => post(`jobs/${job.id}/resume`) },
  {
    verb: "Cancel runs",
    title: "Cancel the runs of",
    picture: "stop",
    danger: true,
    act: (job) => post(`jobs/${job.id}/cancel`),
  },
  { verb: "Delete", title: "Delete", picture: "trash", danger: true, act: (job) => ask("DELETE", `jobs/${job.id}`) },
];

/**
 * @param {{count: number, everything: boolean, next: string | null, act: (action: BulkAction) => void, all: () => void, clear: () => void}} options
 */
export function bulkBar({ count, everything, next, act, all, clear }) {
  return h(
    "div",
    { class: "bulk", role: "toolbar", "aria-label": "What to do with the selected jobs" },
    h("strong", { role: "status" }, everything ? "All that match are selected" : `${number(count)} selected`),
    next !== null && !everything ? button("Select all that match", { kind: "quiet", on: { click: all } }) : null,
    h("span", { class: "spring" }),
    BULK.map((action) =>
      button(action.verb, {
        icon: action.picture,
        kind: action.danger ? "danger-quiet" : "",
        on: { click: () => act(action) },
      }),
    ),
    button("Clear selection", { kind: "quiet", icon: "cross", bare: true, on: { click: clear } }),
  );
}
