/**
 * One execution: how its attempts went, what it printed and returned, what went wrong, and what holds it.
 *
 * @import { Attempt, AuditEntry, Execution, Job, Page, Screen } from "../types.js"
 */

import * as actions from "../actions.js";
import { Problem, get, getVerbatim } from "../api.js";
import * as clock from "../clock.js";
import { h, refresh } from "../dom.js";
import { ago, duration, moment, number } from "../format.js";
import { explain } from "../gates.js";
import * as live from "../live.js";
import {
  badge,
  button,
  empty,
  facts,
  failure,
  heading,
  json,
  linkButton,
  loading,
  paced,
  section,
  table,
  verbatim,
} from "../parts.js";
import { traceLink } from "../preferences.js";
import { href } from "../router.js";
import { timelineOf } from "../attempts.js";
import { auditList } from "./audit.js";
import { isRange, skippedOf } from "./job.js";
import { why } from "../why.js";

/** @param {string} id @returns {Screen} */
export function executionPage(id) {
  const element = h("div", { class: "page execution" });
  /** @type {Execution | null} */
  let run = null;
  /** @type {Map<string, string>} */
  let raw = new Map();
  /** @type {Attempt[]} */
  let attempts = [];
  /** @type {Job | null} */
  let job = null;
  /** As its job has it. @type {string | undefined} */
  let payload;
  /** Null until it was asked for. @type {AuditEntry[] | null} */
  let trail = null;
  /** @type {unknown} */
  let problem = null;

  const load = paced(async () => {
    try {
      const [shown, tries] = await Promise.all([getVerbatim(`executions/${id}`), get(`executions/${id}/attempts`)]);
      run = /** @type {Execution} */ (shown.value);
      raw = shown.raw;
      attempts = tries.items;
      if (job === null) {
        const found = await getVerbatim(`jobs/${run.job_id}`).catch(() => null);
        job = found?.value ?? null;
        payload = found?.raw.get("payload");
      }
      problem = null;
    } catch (error) {
      problem = error;
    }
    draw();
    if (trail === null) rest.call();
  }, 500);
  const rest = paced(async () => {
    if (run === null) return;
    trail = await trailOf(run);
    draw();
  }, 5000);
  const all = () => [load, rest].forEach((each) => each.hurry());
  const stops = [
    live.onFigures(() => draw()),
    live.onChanges((changes) => {
      if (changes.everything || changes.runs.has(id)) [load, rest].forEach((each) => each.call());
    }),
  ];
  // Events don't tell what a run prints: while it runs, it is asked for.
  const timer = setInterval(() => {
    if (document.hidden) return;
    if (run?.status === "RUNNING") load.call();
    else draw();
  }, 1000);

  function draw() {
    if (run === null) {
      refresh(element, heading("Execution", null, above(null)), problem ? gone(problem, load.hurry) : loading());
      return;
    }
    const name = job ? actions.nameOf(job) : "Execution";
    document.title = `${name} · Mainspring`;
    refresh(
      element,
      heading(name, buttons(run, all), above(run)),
      h("p", { class: "lead" }, badge(run.status), h("span", null, lead(run))),
      run.status !== "PENDING" || job === null
        ? null
        : section(
            "Why isn't it running?",
            why(
              explain({
                job,
                execution: run,
                workers: live.state.workers,
                handlers: live.state.handlers,
                metrics: live.state.metrics,
                now: clock.now(),
              }),
            ),
          ),
      section("Attempts", [timelineOf(run, attempts, clock.now()), attemptTable(attempts)]),
      h(
        "div",
        { class: "columns" },
        h(
          "div",
          { class: "column" },
          run.error ? section("Error", verbatim(run.error, { label: "Error", kind: "bad" })) : null,
          section("Output", output(run), { note: run.status === "RUNNING" ? "follows as it is printed" : null }),
          section("Result", json(raw.get("result"), "Result")),
          job ? section("Payload", json(payload, "Payload"), { note: "as its job has it now" }) : null,
        ),
        section("Details", details(run, job)),
      ),
      trail?.length ? section("Audit", auditList(trail, { within: true })) : null,
    );
    follow(element);
  }

  draw();
  load.call();
  return {
    title: "Execution",
    element,
    dispose() {
      clearInterval(timer);
      for (const stop of stops) stop();
      load.end();
      rest.end();
    },
  };
}

/**
 * Who did something to it, or made it; nothing for those who may not read the audit.
 * @param {Execution} run
 * @returns {Promise<AuditEntry[]>}
 */
async function trailOf({ id, job_id }) {
  try {
    /** @type {Page<AuditEntry>} */
    const { items } = await get("audit", { job_id, limit: 100 });
    return items.filter(({ subject, after }) => subject === `run:${id}` || after?.execution === id);
  } catch {
    return [];
  }
}

/** @param {Execution | null} run */
const above = (run) =>
  h(
    "div",
    { class: "back" },
    h("a", { href: href(["executions"]) }, "Executions"),
    run ? [" · ", h("a", { href: href(["jobs", run.job_id]) }, "its job")] : null,
  );

/**
 * @param {unknown} error
 * @param {() => void} again
 */
const gone = (error, again) =>
  error instanceof Problem && error.status === 404
    ? empty(
        "There is no such execution.",
        h("p", null, "It was pruned, or it belongs to somebody else."),
        linkButton("All executions", href(["executions"])),
      )
    : failure(error, again);

/** @param {Execution} run */
function lead(run) {
  const reason = run.reason ? ` (${run.reason})` : "";
  switch (run.status) {
    case "PENDING":
      return [run.attempt > 0 ? "Next attempt " : "Due ", ago(run.scheduled_at)];
    case "RUNNING":
      return [
        "Attempt ",
        number(run.attempt),
        ", begun ",
        ago(run.started_at),
        run.worker_id ? ` by ${run.worker_id}` : "",
      ];
    case "SKIPPED":
      return isRange(run)
        ? [`${skippedOf(run)}${reason}, from `, moment(run.fire_time), " to ", moment(run.skipped_to)]
        : [`Left out${reason}, due `, moment(run.fire_time)];
    default:
      return [
        `Ended${reason} `,
        moment(run.completed_at),
        run.duration_ms === null ? "" : ` after ${duration(run.duration_ms)}`,
      ];
  }
}

/**
 * @param {Execution} run
 * @param {() => void} reload
 */
function buttons(run, reload) {
  const then = (/** @type {Promise<boolean>} */ doing) => void doing.then((worked) => worked && reload());
  const alive = ["PENDING", "RUNNING"].includes(run.status);
  return [
    alive
      ? button("Cancel", {
          icon: "stop",
          kind: "danger-quiet",
          on: { click: () => then(actions.cancelExecution(run)) },
        })
      : null,
    ["FAILED", "CANCELLED"].includes(run.status)
      ? button("Run again", { icon: "retry", kind: "primary", on: { click: () => then(actions.retryExecution(run)) } })
      : null,
  ];
}

/** @param {Attempt[]} attempts */
function attemptTable(attempts) {
  if (attempts.length === 0) return h("p", { class: "faint" }, "No attempt has begun.");
  return table({
    label: "Attempts",
    class: "stack",
    columns: ["Attempt", "Outcome", "Began", "Took", "Worker", "Fence", "Error"],
    rows: attempts.map((each) =>
      h(
        "tr",
        { key: `${each.attempt} ${each.token}` },
        h("td", { class: "main", "data-name": "Attempt" }, number(each.attempt)),
        h(
          "td",
          null,
          badge({ succeeded: "completed", snoozed: "pending" }[/** @type {string} */ (each.outcome)] ?? each.outcome),
        ),
        h("td", { "data-name": "Began" }, ago(each.started_at)),
        h("td", { "data-name": "Took" }, duration(each.duration_ms)),
        h("td", { "data-name": "Worker" }, each.worker_id ?? "–"),
        h("td", { "data-name": "Fence" }, number(each.token)),
        h("td", { class: "error-text" }, (each.error ?? "").trim().split("\n").at(-1) ?? ""),
      ),
    ),
  });
}

/** @param {Execution} run */
function output(run) {
  if (run.output)
    return verbatim(run.output, { label: "Output", kind: run.status === "RUNNING" ? "output following" : "output" });
  return h("p", { class: "faint" }, run.status === "RUNNING" ? "It has printed nothing yet." : "It printed nothing.");
}

/** How long the output was when it was last drawn. @type {WeakMap<Element, number>} */
const heights = new WeakMap();

/** Keep the end in sight, unless somebody scrolled away from it. @param {HTMLElement} element */
function follow(element) {
  const box = element.querySelector(".following");
  if (box === null) return;
  const before = heights.get(box) ?? 0;
  if (box.scrollTop + box.clientHeight >= before - 24) box.scrollTop = box.scrollHeight;
  heights.set(box, box.scrollHeight);
}

/**
 * @param {Execution} run
 * @param {Job | null} job
 */
const details = (run, job) =>
  facts([
    ["Id", h("code", null, run.id)],
    ["Job", h("a", { href: href(["jobs", run.job_id]) }, job ? actions.nameOf(job) : run.job_id)],
    ["Handler", job?.handler ?? "–"],
    ["Due", moment(run.fire_time)],
    ["Skipped to", isRange(run) ? moment(run.skipped_to) : "–"],
    ["Begun", moment(run.started_at)],
    ["Ended", moment(run.completed_at)],
    [
      "Lateness",
      run.started_at && run.attempt === 1
        ? duration(Math.max(0, Date.parse(run.started_at) - Date.parse(run.fire_time)))
        : "–",
    ],
    ["Worker", run.worker_id ?? "–"],
    ["Fence", number(run.token)],
    ["Priority", number(run.priority)],
    ["Run again of", run.retry_of ? actions.executionLink(run.retry_of) : "–"],
    [
      "Trace",
      traceLink(run)
        ? h("a", { href: traceLink(run), rel: "noopener noreferrer", target: "_blank" }, "Open the trace")
        : h("a", { href: href(["settings"]) }, "Say where traces are"),
    ],
  ]);
