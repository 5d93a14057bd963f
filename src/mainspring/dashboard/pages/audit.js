/**
 * Who did what, newest first.
 *
 * @import { AuditEntry, Page, Route, Screen } from "../types.js"
 */

import { Problem, get } from "../api.js";
import { h, refresh } from "../dom.js";
import { ago, plural } from "../format.js";
import * as live from "../live.js";
import { button, empty, failure, heading, loading, paced, table, verbatim } from "../parts.js";
import { href, navigate } from "../router.js";

/** @param {Route} first @returns {Screen} */
export function auditPage(first) {
  const element = h("div", { class: "page audit" });
  let { query } = first;
  /** @type {Page<AuditEntry> | null} */
  let page = null;
  /** @type {unknown} */
  let problem = null;

  const load = paced(async () => {
    try {
      page = await get("audit", { job_id: query.job, cursor: query.cursor, limit: 50 });
      problem = null;
    } catch (error) {
      problem = error;
    }
    draw();
  }, 1500);
  const stop = live.onChanges(() => query.cursor || load.call());

  function draw() {
    const forbidden = problem instanceof Problem && problem.status === 403;
    refresh(
      element,
      heading("Audit", query.job ? h("a", { class: "button", href: href(["audit"]) }, "Show all jobs") : null),
      forbidden
        ? empty("This key may not read the audit.", "It needs the scope admin.")
        : problem
          ? failure(problem, load.hurry)
          : page === null
            ? loading()
            : null,
      page && !problem ? [auditList(page.items, {}), pager(page)] : null,
    );
  }

  /** @param {Page<AuditEntry>} shown */
  const pager = ({ items, next }) =>
    h(
      "nav",
      { class: "pager", "aria-label": "Pages of the list" },
      button("Newest", {
        disabled: !query.cursor,
        on: { click: () => navigate(["audit"], { ...query, cursor: null }) },
      }),
      h("span", { class: "faint", role: "status" }, plural(items.length, "entry", "entries")),
      button("Older", {
        disabled: next === null,
        on: { click: () => navigate(["audit"], { ...query, cursor: next }) },
      }),
    );

  draw();
  load.call();
  return {
    title: "Audit",
    element,
    update(route) {
      query = route.query;
      load.hurry();
    },
    dispose() {
      stop();
      load.end();
    },
  };
}

/**
 * @param {AuditEntry[]} entries
 * @param {{within?: boolean}} options within: on the page of what they are about
 */
export function auditList(entries, { within = false }) {
  if (entries.length === 0)
    return empty(
      "Nothing was done yet.",
      within ? "" : "Everything that people and programs change is written down here.",
    );
  return table({
    label: "Audit",
    class: "stack",
    columns: ["When", "Who", "What", ...(within ? [] : ["Subject"]), "Change"],
    rows: entries.map((entry) =>
      h(
        "tr",
        { key: String(entry.number) },
        h("td", null, ago(entry.at)),
        h("td", { "data-name": "Who" }, entry.actor),
        h("td", { "data-name": "What" }, h("code", null, entry.action)),
        within ? null : h("td", { "data-name": "Subject" }, subject(entry)),
        h("td", null, change(entry)),
      ),
    ),
  });
}

/** @param {AuditEntry} entry */
function subject(entry) {
  const [kind, ...rest] = entry.subject.split(":");
  const id = rest.join(":");
  const short = id.length > 24 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id;
  const shown = `${kind}${id ? ` ${short}` : ""}`;
  if (kind === "job") return h("a", { href: href(["jobs", id]) }, shown);
  if (kind === "run") return h("a", { href: href(["executions", id]) }, shown);
  if (kind === "lock") return h("a", { href: href(["locks"], { name: id }) }, shown);
  return shown;
}

/** What differs, on one line; all of it when opened. @param {AuditEntry} entry */
function change({ before, after }) {
  const lines = differences(before, after);
  const made = !isObject(before) && isObject(after) && "handler" in after;
  const summary = made ? [after.name, after.handler, after.schedule].filter(Boolean).join(" · ") : (lines[0] ?? "");
  if (lines.length === 0) return h("span", { class: "faint" }, "–");
  if (lines.length === 1 && lines[0].length < 80) return h("code", { class: "change" }, lines[0]);
  return h(
    "details",
    null,
    h(
      "summary",
      null,
      h("code", { class: "change" }, summary.slice(0, 60)),
      made || lines.length === 1 ? " …" : ` and ${lines.length - 1} more`,
    ),
    verbatim(lines.join("\n"), { label: "Change" }),
  );
}

/** Fields that change with every change. */
const NOISE = new Set(["updated_at", "version"]);

/**
 * @param {any} before
 * @param {any} after
 * @returns {string[]}
 */
function differences(before, after) {
  if (!isObject(before) || !isObject(after)) {
    const all = isObject(after) ? after : isObject(before) ? before : {};
    return Object.entries(all).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  }
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => !NOISE.has(name) && JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .map((name) => `${name}: ${JSON.stringify(before[name])} → ${JSON.stringify(after[name])}`);
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isObject = (value) => typeof value === "object" && value !== null;
