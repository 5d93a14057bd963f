/**
 * All jobs: found by filters that stand in the address, cut into pages by key, and acted on one by one or many at once.
 *
 * @import { Handler, Job, Page, Route, Screen } from "../types.js"
 */

import { nameOf } from "../actions.js";
import { get } from "../api.js";
import { forAll } from "../bulk.js";
import { h, refresh } from "../dom.js";
import { plural } from "../format.js";
import { bulkBar } from "../jobs/bulk-bar.js";
import { described, filterBar, wanted } from "../jobs/filters.js";
import { jobTable } from "../jobs/table.js";
import * as live from "../live.js";
import { button, failure, heading, linkButton, loading, paced } from "../parts.js";
import { href, navigate } from "../router.js";
import { typedFilters } from "../typing.js";

/** @import { BulkAction } from "../jobs/bulk-bar.js" */

const LIMIT = 50;
const MOST_LOOKS = 40;

/** @param {Route} first @returns {Screen} */
export function jobsPage(first) {
  const element = h("div", { class: "page jobs" });
  /** @type {Record<string, string>} */
  let query = first.query;
  /** @type {Job[] | null} */
  let jobs = null;
  /** @type {string | null} */
  let next = null;
  /** @type {unknown} */
  let problem = null;
  let searching = false;
  /** @type {Map<string, Job>} */
  const selected = new Map();
  let everything = false;
  /** Cursors of the pages before this one. @type {string[]} */
  let trail = [];
  let looking = new AbortController();
  /** @type {string[]} */
  let handlers = [];

  const load = async () => {
    looking.abort();
    looking = new AbortController();
    const { signal } = looking;
    try {
      const found = await pageOf(query, signal, (some) => {
        if (jobs !== null) return;
        jobs = some;
        searching = true;
        draw();
      });
      if (signal.aborted) return;
      ({ items: jobs, next } = found);
      problem = null;
    } catch (error) {
      if (signal.aborted) return;
      problem = error;
    }
    searching = false;
    draw();
  };
  const reload = paced(load, 2000);
  const stop = live.onChanges((changes) => {
    const here = new Set(jobs?.map(({ id }) => id));
    const shown = [...changes.jobs.keys(), ...[...changes.runs.values()].map(({ job_id }) => job_id)].some((id) =>
      here.has(id),
    );
    if (changes.everything || shown || !query.cursor) reload.call();
  });

  /** @param {Record<string, string | null>} changes */
  const filter = (changes) => {
    trail = [];
    navigate(["jobs"], { ...query, cursor: null, ...changes }, { replace: true });
  };
  const typing = typedFilters(filter);
  const select = (/** @type {Job} */ job, /** @type {boolean} */ on) => {
    everything = false;
    if (on) selected.set(job.id, job);
    else selected.delete(job.id);
    draw();
  };
  const selectPage = (/** @type {boolean} */ on) => {
    everything = false;
    selected.clear();
    if (on) for (const job of jobs ?? []) selected.set(job.id, job);
    draw();
  };
  const act = async (/** @type {BulkAction} */ action) => {
    const chosen = [...selected.values()];
    const amount = everything ? "all matching jobs" : plural(chosen.length, "job");
    const done = await forAll({
      title: `${action.title} ${amount}?`,
      question: everything
        ? `Every job that fits ${described(query)} is meant, also those on other pages.`
        : chosen.slice(0, 8).map(nameOf).join(", ") + (chosen.length > 8 ? " …" : ""),
      yes: `${action.verb} ${amount}`,
      danger: action.danger,
      total: everything ? null : chosen.length,
      items: everything ? () => allOf(query) : () => each(chosen),
      act: action.act,
      name: nameOf,
    });
    if (done > 0) {
      selected.clear();
      everything = false;
      await load();
    }
  };

  function draw() {
    const count = selected.size;
    refresh(
      element,
      heading("Jobs", linkButton("New job", href(["jobs", "new"]), { icon: "plus", kind: "primary" })),
      filterBar(query, filter, typing.into, handlers),
      count > 0
        ? bulkBar({
            count,
            everything,
            next,
            act,
            all: () => ((everything = true), draw()),
            clear: () => selectPage(false),
          })
        : null,
      problem ? failure(problem, reload.hurry) : jobs === null ? loading() : null,
      !problem && jobs !== null
        ? jobTable(jobs, query, { selected, select, selectPage, reload: reload.hurry, searching })
        : null,
      !problem && jobs !== null ? pager() : null,
    );
  }

  function pager() {
    const forward = () => {
      if (next === null) return;
      trail.push(query.cursor ?? "");
      navigate(["jobs"], { ...query, cursor: next });
    };
    const back = () => navigate(["jobs"], { ...query, cursor: trail.pop() ?? null });
    return h(
      "nav",
      { class: "pager", "aria-label": "Pages of the list" },
      button("Newer", { on: { click: back }, disabled: !query.cursor }),
      h("span", { class: "faint", role: "status" }, searching ? "Searching…" : plural(jobs?.length ?? 0, "job")),
      button("Older", { on: { click: forward }, disabled: next === null }),
    );
  }

  draw();
  reload.call();
  void get("handlers").then(
    (/** @type {Page<Handler>} */ { items }) => {
      handlers = items.map(({ name }) => name);
      draw();
    },
    () => {},
  );
  return {
    title: "Jobs",
    element,
    update(route) {
      query = route.query;
      selected.clear();
      everything = false;
      jobs = next = null;
      void load();
      draw();
    },
    dispose() {
      typing.end();
      stop();
      reload.end();
      looking.abort();
    },
  };
}

/**
 * A page that is as full as it can be: by status the API may answer with few or none, and more behind.
 * @param {Record<string, string>} query
 * @param {AbortSignal} signal
 * @param {(some: Job[]) => void} tell
 * @returns {Promise<Page<Job>>}
 */
async function pageOf(query, signal, tell) {
  /** @type {Job[]} */
  const items = [];
  /** @type {string | null} */
  let cursor = query.cursor ?? null;
  for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
    /** @type {Page<Job>} */
    const page = await get("jobs", { ...wanted(query), cursor, limit: LIMIT - items.length }, signal);
    items.push(...page.items);
    cursor = page.next;
    if (cursor === null || items.length >= LIMIT) break;
    tell([...items]);
  }
  return { items, next: cursor };
}

/** @param {Record<string, string>} query */
async function* allOf(query) {
  /** @type {string | null} */
  let cursor = null;
  // All are found before anything is done: what is done changes what fits.
  /** @type {Job[]} */
  const found = [];
  do {
    /** @type {Page<Job>} */
    const page = await get("jobs", { ...wanted(query), cursor, limit: 100 });
    found.push(...page.items);
    cursor = page.next;
  } while (cursor !== null);
  yield* found;
}

/** @param {Job[]} jobs */
async function* each(jobs) {
  yield* jobs;
}
