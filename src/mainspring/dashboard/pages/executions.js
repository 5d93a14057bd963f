/**
 * All executions, newest first.
 *
 * @import { Execution, Page, Route, Screen } from "../types.js"
 */

import { get } from "../api.js";
import { h, refresh } from "../dom.js";
import { ago, duration, number, plural } from "../format.js";
import * as live from "../live.js";
import { badge, button, command, empty, failure, heading, loading, paced, table } from "../parts.js";
import { href, navigate } from "../router.js";
import { typedFilters } from "../typing.js";
import { knownNames, nameExecutions } from "../names.js";
import { reasonOf } from "./job.js";

const STATUSES = ["PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "SKIPPED"];

/** @param {Route} first @returns {Screen} */
export function executionsPage(first) {
  const element = h("div", { class: "page" });
  let { query } = first;
  /** @type {Page<Execution> | null} */
  let page = null;
  /** @type {unknown} */
  let problem = null;
  /** @type {string[]} */
  let trail = [];

  const load = paced(async () => {
    const asked = query;
    try {
      const { status, worker, handler, cursor } = query;
      const answer = await get("executions", { status, worker, handler, cursor, limit: 50 });
      if (asked !== query) return load.call();
      page = answer;
      problem = null;
      draw();
      await nameExecutions(answer.items);
    } catch (error) {
      problem = error;
    }
    draw();
  }, 1500);
  const stop = live.onChanges((changes) => {
    const here = page?.items.some(({ id }) => changes.runs.has(id));
    if (changes.everything || here || !query.cursor) load.call();
  });

  /** @param {Record<string, string | null>} changes */
  const filter = (changes) => {
    trail = [];
    navigate(["executions"], { ...query, cursor: null, ...changes }, { replace: true });
  };
  const typing = typedFilters(filter);

  function draw() {
    refresh(
      element,
      heading("Executions"),
      filters(),
      problem ? failure(problem, load.hurry) : page === null ? loading() : [list(page.items), pager(page)],
    );
  }

  const filters = () =>
    h(
      "form",
      { class: "filters", role: "search", on: { submit: (/** @type {Event} */ event) => event.preventDefault() } },
      h(
        "nav",
        { class: "segments", "aria-label": "Status" },
        [["", "Any"], ...STATUSES.map((status) => [status, status.toLowerCase()])].map(([status, name]) =>
          h(
            "a",
            {
              href: href(["executions"], { ...query, cursor: null, status }),
              "aria-current": (query.status ?? "") === status ? "true" : null,
            },
            name,
          ),
        ),
      ),
      ["worker", "handler"].map((name) =>
        h(
          "label",
          null,
          h("span", null, name === "worker" ? "Worker" : "Handler"),
          h("input", {
            name,
            placeholder: "Any",
            autocomplete: "off",
            spellcheck: "false",
            value: query[name] ?? "",
            on: { input: typing.into(name) },
          }),
        ),
      ),
    );

  /** @param {Page<Execution>} shown */
  const pager = ({ items, next }) =>
    h(
      "nav",
      { class: "pager", "aria-label": "Pages of the list" },
      button("Newer", {
        disabled: !query.cursor,
        on: { click: () => navigate(["executions"], { ...query, cursor: trail.pop() ?? null }) },
      }),
      h("span", { class: "faint", role: "status" }, plural(items.length, "execution")),
      button("Older", {
        disabled: next === null,
        on: {
          click: () => {
            trail.push(query.cursor ?? "");
            navigate(["executions"], { ...query, cursor: next });
          },
        },
      }),
    );

  draw();
  load.call();
  return {
    title: "Executions",
    element,
    update(route) {
      query = route.query;
      page = null;
      draw();
      load.hurry();
    },
    dispose() {
      typing.end();
      stop();
      load.end();
    },
  };
}

/** @param {Execution[]} executions */
function list(executions) {
  if (executions.length === 0)
    return empty("No execution fits.", "What runs appears here by itself.", command("mainspring job add test.echo"));
  return table({
    label: "Executions",
    class: "stack",
    columns: ["Job", "Status", "Due", "Took", "Attempt", "Worker", "Reason or error"],
    rows: executions.map((run) => {
      const named = knownNames.get(run.job_id);
      return h(
        "tr",
        { key: run.id },
        h(
          "td",
          { class: "main" },
          h("a", { class: "name", href: href(["executions", run.id]) }, named?.name ?? "…"),
          h("span", { class: "sub" }, named?.handler ?? ""),
        ),
        h("td", null, badge(run.status)),
        h("td", { "data-name": "Due" }, ago(run.scheduled_at)),
        h("td", { "data-name": "Took" }, duration(run.duration_ms)),
        h("td", { "data-name": "Attempt" }, number(run.attempt)),
        h("td", { "data-name": "Worker" }, run.worker_id ?? h("span", { class: "faint" }, "–")),
        h("td", { class: "error-text" }, reasonOf(run)),
      );
    }),
  });
}
