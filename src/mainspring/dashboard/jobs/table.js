/**
 * Jobs as a table, each with what is most often done to it.
 *
 * @import { Job } from "../types.js"
 */

import * as actions from "../actions.js";
import { h } from "../dom.js";
import { ago, until } from "../format.js";
import { badge, button, command, empty, jobLink, linkButton, loading, table } from "../parts.js";
import { href } from "../router.js";
import { inWords } from "../schedule-words.js";
import { described, isFiltered } from "./filters.js";

/**
 * @param {Job[]} jobs
 * @param {Record<string, string>} query
 * @param {{selected: Map<string, Job>, select: (job: Job, on: boolean) => void, selectPage: (on: boolean) => void, reload: () => void, searching: boolean}} options
 */
export function jobTable(jobs, query, { selected, select, selectPage, reload, searching }) {
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
    h(
      "td",
      { class: "check" },
      h("input", { type: "checkbox", "aria-label": `Select ${name}`, checked: chosen, on: { change: check } }),
    ),
    h(
      "td",
      { class: "main" },
      jobLink(job.id, name),
      h("span", { class: "sub" }, job.handler, job.owner === "default" ? null : ` · ${job.owner}`),
    ),
    h(
      "td",
      null,
      h("code", { title: words ?? "" }, job.schedule),
      job.timezone === "UTC" ? null : h("span", { class: "sub" }, job.timezone),
    ),
    h("td", null, badge(job.status)),
    h("td", { "data-name": "Next run" }, until(job.next_run_time)),
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
      ? button(`Resume ${name}`, {
          icon: "resume",
          kind: "quiet",
          bare: true,
          title: "Resume",
          on: then(actions.resume),
        })
      : button(`Pause ${name}`, {
          icon: "pause",
          kind: "quiet",
          bare: true,
          title: "Pause",
          disabled: ended,
          on: then(actions.pause),
        }),
    button(`Delete ${name}`, { icon: "trash", kind: "quiet", bare: true, title: "Delete", on: then(actions.remove) }),
  ];
}

/** @param {Record<string, string>} query */
function nothing(query) {
  if (isFiltered(query)) {
    return empty(
      "No job fits.",
      h("p", null, `Nothing was found for ${described(query)}.`),
      linkButton("Show all jobs", href(["jobs"])),
    );
  }
  return empty(
    "There are no jobs yet.",
    linkButton("New job", href(["jobs", "new"]), { icon: "plus", kind: "primary" }),
    h("p", null, "Or from a terminal:"),
    command('mainspring job add test.echo --payload \'{"hello": "world"}\''),
  );
}
