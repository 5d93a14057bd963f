/**
 * All jobs: found by filters that stand in the address, cut into pages by key, and acted on one by one or many at once.
 *
 * @import { Handler, Job, Page, Route, Screen } from "../types.js"
 */

import * as actions from "../actions.js";
import { ask, get, nonce, post } from "../api.js";
import { forAll } from "../bulk.js";
import { h, refresh } from "../dom.js";
import { ago, number, plural } from "../format.js";
import { icon } from "../icons.js";
import * as live from "../live.js";
import { badge, button, command, empty, failure, heading, jobLink, linkButton, loading, paced, settled, table } from "../parts.js";
import { href, navigate } from "../router.js";
import { inWords } from "../schedule-words.js";

const STATUSES = ["SCHEDULED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "PAUSED"];
const FILTERS = ["q", "status", "handler", "owner", "project"];
const LIMIT = 50;
const MOST_LOOKS = 40;

/** @typedef {{verb: string, title: string, danger?: boolean, picture: string, act: (job: Job) => Promise<unknown>}} BulkAction */

/** @type {BulkAction[]} */
const BULK = [
  { verb: "Trigger", title: "Trigger", picture: "play", act: (job) => ask("POST", `jobs/${job.id}/trigger`, { headers: { "Idempotency-Key": nonce() } }) },
  { verb: "Pause", title: "Pause", picture: "pause", act: (job) => post(`jobs/${job.id}/pause`) },
  { verb: "Resume", title: "Resume", picture: "resume", act: (job) => post(`jobs/${job.id}/resume`) },
  { verb: "Cancel runs", title: "Cancel the runs of", picture: "stop", danger: true, act: (job) => post(`jobs/${job.id}/cancel`) },
  { verb: "Delete", title: "Delete", picture: "trash", danger: true, act: (job) => ask("DELETE", `jobs/${job.id}`) },
];

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
  const reload = paced(load, 1200);
  const stop = live.onChanges((changes) => {
    const here = new Set(jobs?.map(({ id }) => id));
    const shown = [...changes.jobs.keys(), ...[...changes.runs.values()].map(({ job_id }) => job_id)].some((id) => here.has(id));
    if (changes.everything || shown || !query.cursor) reload.call();
  });

  /** @param {Record<string, string | null>} changes */
  const filter = (changes) => {
    trail = [];
    navigate(["jobs"], { ...query, cursor: null, ...changes }, { replace: true });
  };
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
      question: everything ? `Every job that fits ${described(query)} is meant, also those on other pages.` : chosen.slice(0, 8).map(actions.nameOf).join(", ") + (chosen.length > 8 ? " …" : ""),
      yes: `${action.verb} ${amount}`,
      danger: action.danger,
      total: everything ? null : chosen.length,
      items: everything ? () => allOf(query) : () => each(chosen),
      act: action.act,
      name: actions.nameOf,
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
      filterBar(query, filter, handlers),
      count > 0 ? bulkBar({ count, everything, next, act, all: () => ((everything = true), draw()), clear: () => selectPage(false) }) : null,
      problem ? failure(problem, reload.call) : jobs === null ? loading() : null,
      !problem && jobs !== null ? list(jobs, query, { selected, select, selectPage, reload: reload.call, searching }) : null,
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
      jobs = null;
      void load();
      draw();
    },
    dispose() {
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
const wanted = (query) => Object.fromEntries(FILTERS.map((name) => [name, query[name]]));

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

/** @param {Record<string, string>} query */
function described(query) {
  const parts = FILTERS.filter((name) => query[name]).map((name) => `${name} “${query[name]}”`);
  return parts.length === 0 ? "the list without a filter" : parts.join(" and ");
}

/**
 * @param {Record<string, string>} query
 * @param {(changes: Record<string, string | null>) => void} filter
 * @param {string[]} handlers
 */
function filterBar(query, filter, handlers) {
  /** @param {string} name */
  const typed = (name) => (/** @type {Event} */ event) => {
    const field = /** @type {HTMLInputElement} */ (event.target);
    settledFilters[name] ??= settled(() => settledFilter(name), 200);
    pendingFilters[name] = () => filter({ [name]: field.value.trim() });
    settledFilters[name]();
  };
  return h(
    "form",
    { class: "filters", role: "search", on: { submit: (/** @type {Event} */ event) => event.preventDefault() } },
    h(
      "label",
      { class: "search" },
      h("span", { class: "unseen" }, "Search in names, handlers and keys"),
      icon("search"),
      h("input", { type: "search", name: "q", placeholder: "Search names, handlers, keys", autocomplete: "off", value: query.q ?? "", on: { input: typed("q") } }),
    ),
    h(
      "label",
      null,
      h("span", null, "Status"),
      h(
        "select",
        { name: "status", value: query.status ?? "", on: { change: (/** @type {Event} */ event) => filter({ status: /** @type {HTMLSelectElement} */ (event.target).value }) } },
        h("option", { value: "" }, "Any"),
        STATUSES.map((status) => h("option", { value: status, selected: status === query.status }, status.toLowerCase())),
      ),
    ),
    field("Handler", "handler", query, typed, "known-handlers"),
    field("Project", "project", query, typed),
    field("Owner", "owner", query, typed),
    h("datalist", { id: "known-handlers" }, handlers.map((name) => h("option", { value: name }))),
    FILTERS.some((name) => query[name]) ? button("Clear", { kind: "quiet", on: { click: () => filter(Object.fromEntries(FILTERS.map((name) => [name, null]))) } }) : null,
  );
}

/** @type {Record<string, () => void>} */
const settledFilters = {};
/** @type {Record<string, () => void>} */
const pendingFilters = {};
/** @param {string} name */
const settledFilter = (name) => pendingFilters[name]?.();

/**
 * @param {string} label
 * @param {string} name
 * @param {Record<string, string>} query
 * @param {(name: string) => (event: Event) => void} typed
 * @param {string} [list]
 */
const field = (label, name, query, typed, list) =>
  h("label", null, h("span", null, label), h("input", { name, list, placeholder: "Any", autocomplete: "off", spellcheck: "false", value: query[name] ?? "", on: { input: typed(name) } }));

/**
 * @param {{count: number, everything: boolean, next: string | null, act: (action: BulkAction) => void, all: () => void, clear: () => void}} options
 */
function bulkBar({ count, everything, next, act, all, clear }) {
  return h(
    "div",
    { class: "bulk", role: "toolbar", "aria-label": "What to do with the selected jobs" },
    h("strong", { role: "status" }, everything ? "All that match are selected" : `${number(count)} selected`),
    next !== null && !everything ? button("Select all that match", { kind: "quiet", on: { click: all } }) : null,
    h("span", { class: "spring" }),
    BULK.map((action) => button(action.verb, { icon: action.picture, kind: action.danger ? "danger-quiet" : "", on: { click: () => act(action) } })),
    button("Clear selection", { kind: "quiet", icon: "cross", bare: true, on: { click: clear } }),
  );
}

/**
 * @param {Job[]} jobs
 * @param {Record<string, string>} query
 * @param {{selected: Map<string, Job>, select: (job: Job, on: boolean) => void, selectPage: (on: boolean) => void, reload: () => void, searching: boolean}} options
 */
function list(jobs, query, { selected, select, selectPage, reload, searching }) {
  if (jobs.length === 0 && searching) return loading("Searching");
  if (jobs.length === 0) return nothing(query);
  const all = jobs.every(({ id }) => selected.has(id));
  const result = table({
    label: "Jobs",
    class: "stack",
    columns: [".Selected", "Name", "Schedule", "Status", "Next run", "Created", ".Actions"],
    rows: jobs.map((job) => row(job, selected.has(job.id), select, reload)),
  });
  const box = h("input", {
    type: "checkbox",
    "aria-label": "Select all jobs of this page",
    checked: all,
    indeterminate: !all && selected.size > 0,
    on: { change: (/** @type {Event} */ event) => selectPage(/** @type {HTMLInputElement} */ (event.target).checked) },
  });
  result.querySelector("th")?.replaceChildren(box);
  return result;
}

/**
 * @param {Job} job
 * @param {boolean} chosen
 * @param {(job: Job, on: boolean) => void} select
 * @param {() => void} reload
 */
function row(job, chosen, select, reload) {
  const name = actions.nameOf(job);
  const check = (/** @type {Event} */ event) => select(job, /** @type {HTMLInputElement} */ (event.target).checked);
  const words = inWords(job.schedule);
  return h(
    "tr",
    { key: job.id, class: chosen ? "chosen" : "" },
    h("td", { class: "check" }, h("input", { type: "checkbox", "aria-label": `Select ${name}`, checked: chosen, on: { change: check } })),
    h("td", { class: "main" }, jobLink(job.id, name), h("span", { class: "sub" }, job.handler, job.owner === "default" ? null : ` · ${job.owner}`)),
    h("td", null, h("code", { title: words ?? "" }, job.schedule), job.timezone === "UTC" ? null : h("span", { class: "sub" }, job.timezone)),
    h("td", null, badge(job.status)),
    h("td", { "data-name": "Next run" }, ago(job.next_run_time)),
    h("td", { "data-name": "Created" }, ago(job.created_at)),
    h("td", { class: "acts" }, jobActions(job, reload)),
  );
}

/**
 * @param {Job} job
 * @param {() => void} reload
 */
function jobActions(job, reload) {
  const name = actions.nameOf(job);
  /** @param {(job: Job) => Promise<boolean>} action */
  const then = (action) => ({ click: () => void action(job).then((worked) => worked && reload()) });
  const paused = job.status === "PAUSED";
  const ended = ["COMPLETED", "FAILED", "CANCELLED"].includes(job.status);
  return [
    button(`Trigger ${name}`, { icon: "play", kind: "quiet", bare: true, title: "Trigger", on: then(actions.trigger) }),
    paused
      ? button(`Resume ${name}`, { icon: "resume", kind: "quiet", bare: true, title: "Resume", on: then(actions.resume) })
      : button(`Pause ${name}`, { icon: "pause", kind: "quiet", bare: true, title: "Pause", disabled: ended, on: then(actions.pause) }),
    button(`Delete ${name}`, { icon: "trash", kind: "quiet", bare: true, title: "Delete", on: then(actions.remove) }),
  ];
}

/** @param {Record<string, string>} query */
function nothing(query) {
  if (FILTERS.some((name) => query[name])) {
    return empty("No job fits.", h("p", null, `Nothing was found for ${described(query)}.`), linkButton("Show all jobs", href(["jobs"])));
  }
  return empty(
    "There are no jobs yet.",
    linkButton("New job", href(["jobs", "new"]), { icon: "plus", kind: "primary" }),
    h("p", null, "Or from a terminal:"),
    command("mainspring job add test.echo --payload '{\"hello\": \"world\"}'"),
  );
}
