/**
 * Whether everything is there: the store, those who work on it, and what stands beside it.
 *
 * @import { Child, Pipe } from "./types.js"
 */

import { h } from "./dom.js";
import { ago } from "./format.js";
import * as live from "./live.js";

/** What pipes are for, by the settings that name them; one that came later goes by its own name. */
const PURPOSES = /** @type {Record<string, string>} */ ({
  signals: "Wake-ups",
  members: "Leadership",
  work: "Work queue",
});

/** @param {Pipe} pipe */
export const purposeOf = ({ purpose }) => PURPOSES[purpose] ?? purpose;

export function healthList() {
  const { health, silence, metrics, connection, workers } = live.state;
  const store = health?.database;
  return h(
    "ul",
    { class: "rows health" },
    light("Store", store ? store.status === "up" : null, store ? (store.detail ?? "answers") : silence && "unknown"),
    light("Schedulers", metrics ? metrics.schedulers > 0 : null, metrics ? `${metrics.schedulers} alive` : ""),
    light("Workers", workers ? workers.length > 0 : null, workers ? `${workers.length} alive` : ""),
    pipeLights(health?.pipes),
    light(
      "Events",
      connection === "connecting" ? null : connection === "live",
      { live: "live", lost: "connection lost", connecting: "connecting" }[connection],
    ),
  );
}

/** @param {Pipe[] | null | undefined} pipes */
function pipeLights(pipes) {
  if (!pipes) return null;
  if (pipes.length === 0) return light("Pipes", null, "none: everything goes by the store");
  return pipes.map((pipe) =>
    light(purposeOf(pipe), pipe.status === "up", pipe.status === "up" ? pipe.url : ["lost ", ago(pipe.since)]),
  );
}

/**
 * @param {string} name
 * @param {boolean | null} good
 * @param {Child} text
 */
const light = (name, good, text) =>
  h(
    "li",
    null,
    h("span", { class: "name" }, name),
    h("span", { class: `light ${good === null ? "" : good ? "good" : "bad"}` }, h("span", null, text)),
  );
