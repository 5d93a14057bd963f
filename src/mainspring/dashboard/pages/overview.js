/**
 * What is going on: how much, how fast, how late, what comes next, what is stuck, and who does the work.
 *
 * @import { Execution, Job, Route, Screen, Timeline } from "../types.js"
 */

import { collect, get } from "../api.js";
import * as clock from "../clock.js";
import { h, refresh } from "../dom.js";
import { ago, until } from "../format.js";
import { healthList } from "../health.js";
import * as live from "../live.js";
import {
  badge,
  command,
  empty,
  failure,
  heading,
  jobLink,
  linkButton,
  loading,
  paced,
  section,
  slots,
  workerState,
} from "../parts.js";
import { knownNames, nameExecutions } from "../names.js";
import { chartCards, tiles } from "../overview-charts.js";
import { RANGES } from "../ranges.js";
import { href } from "../router.js";
import { MOST_LOOKED_AT, findStuck, troubles } from "../troubles.js";

/** Where there is too much to be counted, what is seen meanwhile fills in, and the server is spared. */
const COSTLY_EVERY_MS = 30_000;
/** What is stuck makes no events. */
const LISTS_EVERY_MS = 10_000;
const LOOKED_AT = 300;
const SHOWN_NEXT = 7;
const SHOWN_RECENT = 9;
/** What came due a moment ago is about to be told. */
const JUST_MS = 2000;

/** @param {Route} first @returns {Screen} */
export function overviewPage(first) {
  const element = h("div", { class: "page overview" });
  let range = rangeOf(first);
  /** @type {Timeline | null} */
  let timeline = null;
  /** @type {Job[] | null} */
  let next = null;
  /** @type {Execution[] | null} */
  let recent = null;
  /** @type {import("../troubles.js").Stuck | null} */
  let stuck = null;
  /** @type {unknown} */
  let problem = null;

  let asked = 0;
  let listed = 0;

  const charts = paced(async () => {
    asked = performance.now();
    try {
      timeline = await get("metrics/timeline", { window: range.window, steps: range.steps });
      problem = null;
    } catch (error) {
      problem = error;
    }
    draw();
  }, 2000);

  const lists = paced(async () => {
    listed = performance.now();
    const opening = recent === null;
    const read = async (/** @type {() => Promise<void>} */ part) => {
      try {
        await part();
      } catch (error) {
        problem = error;
      }
      // Whoever comes sees each list as soon as it is there; later all are drawn at once.
      if (opening) draw();
    };
    await Promise.all([readNext, readRecent, readStuck].map(read));
    draw();
  }, 1500);

  const readNext = async () => {
    const { items } = await collect("jobs", { status: "SCHEDULED" }, LOOKED_AT);
    next = soonest(/** @type {Job[]} */ (items));
  };
  const readRecent = async () => {
    const { items } = await get("executions", { limit: SHOWN_RECENT });
    await nameExecutions(items);
    recent = items;
  };
  const readStuck = async () => {
    const { items } = await get("executions", { status: "PENDING", limit: MOST_LOOKED_AT });
    stuck = await findStuck(items, clock.now());
  };

  const timer = setInterval(() => {
    const every = timeline?.complete === false ? Math.max(range.every, COSTLY_EVERY_MS) : range.every;
    if (document.hidden) return;
    if (performance.now() - asked >= every) charts.call();
    if (performance.now() - listed >= LISTS_EVERY_MS) lists.call();
  }, 1000);
  const stops = [live.onFigures(draw), live.onChanges(() => lists.call())];
  const again = () => [charts, lists].forEach((each) => each.call());

  function draw() {
    refresh(
      element,
      heading("Overview", rangeLinks(range)),
      problem && timeline === null ? failure(problem, again) : null,
      tiles(timeline),
      timeline === null ? loading() : chartCards(timeline),
      h(
        "div",
        { class: "columns" },
        h(
          "div",
          { class: "column" },
          section("Fires next", nextList(next), { note: "of the newest jobs" }),
          section("Latest executions", recentList(recent), {
            actions: h("a", { href: href(["executions"]) }, "All executions"),
          }),
        ),
        h(
          "div",
          { class: "column" },
          section("Needs attention", troubleList(troubles(live.state, stuck, clock.now()))),
          section("Workers", workerList(), { actions: h("a", { href: href(["workers"]) }, "All workers") }),
          section("Health", healthList()),
        ),
      ),
    );
  }

  draw();
  again();
  return {
    title: "Overview",
    element,
    update(route) {
      range = rangeOf(route);
      timeline = null;
      draw();
      charts.hurry();
    },
    dispose() {
      clearInterval(timer);
      for (const stop of stops) stop();
      charts.end();
      lists.end();
    },
  };
}

/** @param {Route} route */
const rangeOf = ({ query }) => RANGES.find(({ window }) => window === query.range) ?? RANGES[0];

/** @param {import("../ranges.js").Range} range */
const rangeLinks = (range) =>
  h(
    "nav",
    { class: "segments", "aria-label": "Range of the charts" },
    RANGES.map((each) =>
      h("a", { href: href([], { range: each.window }), "aria-current": each === range ? "true" : null }, each.name),
    ),
  );

/** @param {Job[]} jobs */
const soonest = (jobs) =>
  jobs
    .filter(({ next_run_time }) => next_run_time !== null && Date.parse(next_run_time) > clock.now() - JUST_MS)
    .sort((a, b) => String(a.next_run_time).localeCompare(String(b.next_run_time)))
    .slice(0, SHOWN_NEXT);

/** @param {Job[] | null} jobs */
function nextList(jobs) {
  if (jobs === null) return loading();
  if (jobs.length === 0) {
    return empty(
      "Nothing is scheduled.",
      linkButton("New job", href(["jobs", "new"]), { icon: "plus", kind: "primary" }),
      command("mainspring job add test.echo --schedule '@every 1m'"),
    );
  }
  return h(
    "ul",
    { class: "rows" },
    jobs.map((job) =>
      h(
        "li",
        { key: job.id },
        jobLink(job.id, job.name || job.handler),
        h("code", { class: "faint" }, job.schedule),
        until(job.next_run_time),
      ),
    ),
  );
}

/** @param {import("../troubles.js").Trouble[]} found */
function troubleList(found) {
  if (found.length === 0) return h("p", { class: "good calm" }, "Nothing. All is well.");
  return h(
    "ul",
    { class: "rows troubles" },
    found.map(({ key, text, advice, target, severity }) =>
      h(
        "li",
        { key, class: severity },
        h(
          "div",
          null,
          target ? h("a", { href: target }, text) : h("strong", null, text),
          advice ? h("p", { class: "faint" }, advice) : null,
        ),
      ),
    ),
  );
}

/** @param {Execution[] | null} executions */
function recentList(executions) {
  if (executions === null) return loading();
  if (executions.length === 0) return empty("Nothing has run yet.", "What runs appears here by itself.");
  return h(
    "ul",
    { class: "rows" },
    executions.map((execution) =>
      h(
        "li",
        { key: execution.id },
        h(
          "a",
          { href: href(["executions", execution.id]), class: "name" },
          knownNames.get(execution.job_id)?.name || "execution",
        ),
        badge(execution.status),
        ago(execution.completed_at ?? execution.started_at ?? execution.scheduled_at),
      ),
    ),
  );
}

function workerList() {
  const { workers } = live.state;
  if (workers === null) return loading();
  if (workers.length === 0) return empty("No worker is alive: nothing runs.", command("mainspring worker"));
  return h(
    "ul",
    { class: "rows" },
    workers
      .slice(0, 6)
      .map((worker) =>
        h(
          "li",
          { key: String(worker.session) },
          h("span", { class: "name" }, worker.id),
          worker.status === "active" ? slots(worker) : workerState(worker),
          ago(worker.last_heartbeat),
        ),
      ),
  );
}
