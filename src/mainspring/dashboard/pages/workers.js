/**
 * The workers that are alive: what they serve, how busy they are, and how to take one out of service.
 *
 * @import { Handler, Page, Screen, Worker } from "../types.js"
 */

import { drainWorker, resumeWorker } from "../actions.js";
import { get } from "../api.js";
import { h, refresh } from "../dom.js";
import { ago, duration, plural } from "../format.js";
import * as live from "../live.js";
import { button, command, empty, heading, loading, section, slots, table, workerState } from "../parts.js";
import { href } from "../router.js";

const SKEW_MS = 1000;

/** @returns {Screen} */
export function workersPage() {
  const element = h("div", { class: "page workers" });
  /** @type {Handler[] | null} */
  let handlers = null;

  const stop = live.onFigures(draw);
  void get("handlers").then(
    (/** @type {Page<Handler>} */ { items }) => {
      handlers = items;
      draw();
    },
    () => {},
  );

  function draw() {
    const { workers, metrics } = live.state;
    refresh(
      element,
      heading("Workers"),
      metrics && workers
        ? h(
            "p",
            { class: "lead" },
            `${plural(workers.length, "worker")} with ${plural(metrics.capacity, "slot")}, ${metrics.executing} in use; ${plural(metrics.schedulers, "scheduler")} alive.`,
          )
        : null,
      workers === null ? loading() : workers.length === 0 ? nobody() : list(workers),
      handlers ? section("Handlers by lane", lanes(handlers, workers ?? [])) : null,
    );
  }

  draw();
  return { title: "Workers", element, dispose: stop };
}

const nobody = () =>
  empty(
    "No worker is alive: nothing runs.",
    h("p", null, "Start everything in one process, or a worker alone:"),
    command("mainspring serve"),
    command("mainspring worker"),
  );

/** @param {Worker[]} workers */
const list = (workers) =>
  table({
    label: "Workers",
    class: "stack",
    columns: ["Worker", "State", "Slots in use", "Lanes", "Last heartbeat", "Alive since", "Clock", ".Actions"],
    rows: workers.map((worker) =>
      h(
        "tr",
        { key: String(worker.session) },
        h(
          "td",
          { class: "main" },
          h("a", { class: "name", href: href(["executions"], { worker: worker.id }) }, worker.id),
          h("span", { class: "sub" }, `${worker.host} · process ${worker.pid} · session ${worker.session}`),
        ),
        h("td", { "data-name": "State" }, workerState(worker)),
        h("td", { "data-name": "Slots in use" }, slots(worker)),
        h("td", { "data-name": "Lanes" }, worker.lanes.join(", ")),
        h("td", { "data-name": "Last heartbeat" }, ago(worker.last_heartbeat)),
        h("td", { "data-name": "Alive since" }, ago(worker.started_at)),
        h(
          "td",
          { "data-name": "Clock", class: Math.abs(worker.clock_skew_ms) > SKEW_MS ? "bad" : "" },
          Math.abs(worker.clock_skew_ms) < 50
            ? "right"
            : `${duration(Math.abs(worker.clock_skew_ms))} ${worker.clock_skew_ms > 0 ? "ahead" : "behind"}`,
        ),
        h(
          "td",
          { class: "acts" },
          worker.status === "active"
            ? act("Drain", "pause", worker, drainWorker)
            : act("Resume", "resume", worker, resumeWorker),
        ),
      ),
    ),
  });

/**
 * Its process goes on either way: a process is ended where it runs.
 * @param {string} word
 * @param {string} picture
 * @param {Worker} worker
 * @param {(worker: Worker) => Promise<boolean>} action
 */
const act = (word, picture, worker, action) =>
  button(`${word} ${worker.id}`, {
    kind: "quiet",
    icon: picture,
    bare: true,
    title: word,
    on: { click: () => void action(worker).then(live.readFigures) },
  });

/**
 * @param {Handler[]} handlers
 * @param {Worker[]} workers
 */
function lanes(handlers, workers) {
  const names = [
    ...new Set([...handlers.map(({ lane }) => lane), ...workers.flatMap(({ lanes: served }) => served)]),
  ].sort();
  return h(
    "ul",
    { class: "rows lanes" },
    names.map((lane) => {
      const serving = workers.filter(({ lanes: served }) => served.includes(lane));
      const taking = serving.filter(({ status }) => status === "active");
      return h(
        "li",
        { key: lane },
        h("span", { class: "name" }, lane),
        h(
          "span",
          { class: `light ${taking.length ? "good" : "bad"}` },
          taking.length ? plural(taking.length, "worker") : serving.length ? "its workers drain" : "nobody serves it",
        ),
        h(
          "span",
          { class: "handlers" },
          handlers.filter((handler) => handler.lane === lane).map(({ name }) => h("code", null, name)),
        ),
      );
    }),
  );
}
