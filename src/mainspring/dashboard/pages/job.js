/**
 * One job: what it is, when it runs, what became of its runs, who changed it, and what holds it.
 *
 * @import { AuditEntry, Execution, Job, Page, Screen, Timeline } from "../types.js"
 */

import * as actions from "../actions.js";
import { Problem, get, getVerbatim, post } from "../api.js";
import { calendar } from "../charts.js";
import * as clock from "../clock.js";
import { h, refresh } from "../dom.js";
import { ago, duration, moment, number, plural } from "../format.js";
import { explain, isRecurring } from "../gates.js";
import * as live from "../live.js";
import { days } from "../days.js";
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
} from "../parts.js";
import { href, navigate } from "../router.js";
import { inWords } from "../schedule-words.js";
import { auditList } from "./audit.js";
import { why } from "../why.js";

const WINDOW_DAYS = 84;
const COMING = 100;
const FIRST_SHOWN = 10;
const MOST_SHOWN = 100;

/** @param {string} id @returns {Screen} */
export function jobPage(id) {
  const element = h("div", { class: "page job" });
  /** @type {Job | null} */
  let job = null;
  /** @type {Map<string, string>} */
  let raw = new Map();
  /** @type {Page<Execution> | null} */
  let executions = null;
  /** @type {AuditEntry[] | null} */
  let trail = null;
  /** @type {{timeline: Timeline, coming: string[]} | null} */
  let history = null;
  /** @type {unknown} */
  let problem = null;
  let shown = FIRST_SHOWN;

  const load = paced(async () => {
    try {
      const [found, runs] = await Promise.all([
        getVerbatim(`jobs/${id}`),
        get(`jobs/${id}/executions`, { limit: shown }),
      ]);
      job = found.value;
      raw = found.raw;
      executions = runs;
      problem = null;
    } catch (error) {
      problem = error;
    }
    draw();
  }, 700);
  const rest = paced(async () => {
    [trail, history] = await Promise.all([
      get("audit", { job_id: id, limit: 20 }).then(
        (/** @type {Page<AuditEntry>} */ { items }) => items,
        () => null,
      ),
      past(id).catch(() => null),
    ]);
    draw();
  }, 5000);
  const all = () => [load, rest].forEach((each) => each.hurry());
  const stops = [
    live.onFigures(() => draw()),
    live.onChanges((changes) => {
      const mine = changes.jobs.has(id) || [...changes.runs.values()].some(({ job_id }) => job_id === id);
      if (changes.everything || mine) [load, rest].forEach((each) => each.call());
    }),
  ];
  const timer = setInterval(() => document.hidden || draw(), 1000);

  function draw() {
    if (job === null) {
      refresh(element, heading("Job", null, above()), problem ? gone(problem, all) : loading());
      return;
    }
    document.title = `${actions.nameOf(job)} · Mainspring`;
    const current = job;
    refresh(
      element,
      heading(actions.nameOf(job), buttons(current, all), above()),
      problem ? gone(problem, all) : null,
      h("p", { class: "lead" }, badge(job.status), h("span", null, lead(job))),
      job.description ? h("p", null, job.description) : null,
      section(
        "Why isn't it running?",
        why(
          explain({
            job,
            execution: pending(executions),
            workers: live.state.workers,
            handlers: live.state.handlers,
            metrics: live.state.metrics,
            now: clock.now(),
          }),
        ),
      ),
      section("Executions", [runs(executions), more()], { note: isRecurring(job) ? "newest first" : null }),
      h(
        "div",
        { class: "columns" },
        h(
          "div",
          { class: "column" },
          section("Payload", json(raw.get("payload"), "Payload")),
          isRecurring(job) && history
            ? section("Calendar", days(history.timeline, history.coming, COMING, calendar), {
                note: `${WINDOW_DAYS} days back, and what is to come`,
              })
            : null,
        ),
        section("Details", details(job)),
      ),
      section(
        "Audit",
        trail === null
          ? h("p", { class: "faint" }, "Only keys with the scope admin may read it.")
          : auditList(trail, { within: true }),
      ),
    );
  }

  function more() {
    if (!executions?.next || shown === MOST_SHOWN) return null;
    const click = () => {
      shown = MOST_SHOWN;
      load.call();
    };
    return h("p", { class: "more-rows" }, button("Show more", { kind: "quiet", on: { click } }));
  }

  draw();
  all();
  return {
    title: "Job",
    element,
    dispose() {
      clearInterval(timer);
      for (const stop of stops) stop();
      load.end();
      rest.end();
    },
  };
}

const above = () => h("a", { class: "back", href: href(["jobs"]) }, "Jobs");

/**
 * @param {unknown} error
 * @param {() => void} again
 */
const gone = (error, again) =>
  error instanceof Problem && error.status === 404
    ? empty(
        "There is no such job.",
        h("p", null, "It was deleted, or it belongs to somebody else."),
        linkButton("All jobs", href(["jobs"])),
      )
    : failure(error, again);

/** The run that waits, or else the newest. @param {Page<Execution> | null} page */
function pending(page) {
  const items = page?.items ?? [];
  return (
    items.find(({ status }) => status === "RUNNING") ??
    items.find(({ status }) => status === "PENDING") ??
    items[0] ??
    null
  );
}

/** @param {Job} job */
function lead(job) {
  const words = inWords(job.schedule) ?? job.schedule;
  const place = isRecurring(job) && job.timezone !== "UTC" ? ` (${job.timezone})` : "";
  return [
    `Runs ${words}${place} by `,
    h("code", null, job.handler),
    job.next_run_time ? [". Next: ", moment(job.next_run_time)] : ".",
  ];
}

/**
 * @param {Job} job
 * @param {() => void} reload
 */
function buttons(job, reload) {
  const then = (/** @type {Promise<boolean>} */ doing) => void doing.then((worked) => worked && reload());
  const ended = ["COMPLETED", "FAILED", "CANCELLED"].includes(job.status);
  return [
    button("Trigger", { icon: "play", kind: "primary", on: { click: () => then(actions.trigger(job)) } }),
    job.status === "PAUSED"
      ? button("Resume", { icon: "resume", on: { click: () => then(actions.resume(job)) } })
      : button("Pause", { icon: "pause", disabled: ended, on: { click: () => then(actions.pause(job)) } }),
    button("Cancel runs", { icon: "stop", on: { click: () => then(actions.cancel(job)) } }),
    ended ? null : linkButton("Edit", href(["jobs", job.id, "edit"]), { icon: "edit" }),
    button("Delete", {
      icon: "trash",
      kind: "danger-quiet",
      on: { click: () => void actions.remove(job).then((worked) => worked && navigate(["jobs"])) },
    }),
  ];
}

/** @param {Page<Execution> | null} page */
function runs(page) {
  if (page === null) return loading();
  if (page.items.length === 0) return empty("It hasn't run yet.", "Trigger it to run it once now.");
  return table({
    label: "Executions",
    class: "stack",
    columns: ["Execution", "Status", "Due", "Took", "Attempt", "Worker", "Reason or error"],
    rows: page.items.map((run) =>
      h(
        "tr",
        { key: run.id },
        h("td", { class: "main" }, actions.executionLink(run.id)),
        h("td", null, badge(run.status)),
        h("td", { "data-name": "Due" }, ago(run.fire_time)),
        h("td", { "data-name": "Took" }, duration(run.duration_ms)),
        h("td", { "data-name": "Attempt" }, number(run.attempt)),
        h("td", { "data-name": "Worker" }, run.worker_id ?? h("span", { class: "faint" }, "–")),
        h("td", { class: "error-text" }, reasonOf(run)),
      ),
    ),
  });
}

/** @param {Execution} run */
export const reasonOf = (run) =>
  [run.reason, isRange(run) ? skippedOf(run) : null, run.error?.trim().split("\n").at(-1)]
    .filter(Boolean)
    .join(": ")
    .slice(0, 160);

/** Whether it stands for several fire times that were skipped. @param {Execution} run */
export const isRange = (run) => run.skipped_to !== null && run.skipped_to !== run.fire_time;

/** @param {Execution} run */
export const skippedOf = (run) => `${run.skipped_count ?? "more than 100"} fire times skipped`;

/** @param {Job} job */
const details = (job) =>
  facts([
    ["Id", h("code", null, job.id)],
    ["Key", job.key === null ? "none" : h("code", null, job.key)],
    ["Schedule", h("code", null, job.schedule)],
    ["Time zone", job.timezone],
    ["Priority", number(job.priority)],
    [
      "Retries",
      `${plural(job.max_retries, "retry", "retries")}, ${job.retry.kind}, ${duration(job.retry.initial_ms)} to ${duration(job.retry.max_ms)}`,
    ],
    ["Timeout", duration(job.timeout_ms)],
    ["Lane", job.lane],
    ["Overlap", job.overlap],
    ["Missed moments", `${job.misfire.policy}, after ${duration(job.misfire.grace_ms)}`],
    ["Owner, project", `${job.owner}, ${job.project_id}`],
    ["Created", moment(job.created_at)],
    ["Changed", moment(job.updated_at)],
    ["Version", number(job.version)],
  ]);

/**
 * What ran on each day, and when it will run.
 * @param {string} id
 */
async function past(id) {
  const [timeline, job] = await Promise.all([
    get("metrics/timeline", { window: `${WINDOW_DAYS}d`, steps: WINDOW_DAYS * 4, job_id: id }),
    get(`jobs/${id}`),
  ]);
  if (!isRecurring(job) || job.status === "PAUSED") return { timeline, coming: [] };
  const { schedule, timezone, starts_at, dst } = job;
  const preview = await post("schedules/preview", {
    schedule,
    timezone,
    dst,
    ...(starts_at ? { starts_at } : {}),
    count: COMING,
  });
  return { timeline, coming: preview.items };
}
