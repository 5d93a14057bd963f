/**
 * Which jobs to show. What is chosen stands in the address.
 */

import { h } from "../dom.js";
import { icon } from "../icons.js";
import { button } from "../parts.js";

const STATUSES = ["SCHEDULED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "PAUSED"];
const FILTERS = ["q", "status", "handler", "owner", "project"];

/** @param {Record<string, string>} query */
export const wanted = (query) => Object.fromEntries(FILTERS.map((name) => [name, query[name]]));

/** Whether anything is filtered. @param {Record<string, string>} query */
export const isFiltered = (query) => FILTERS.some((name) => query[name]);

/** @param {Record<string, string>} query */
export function described(query) {
  const parts = FILTERS.filter((name) => query[name]).map((name) => `${name} “${query[name]}”`);
  return parts.length === 0 ? "the list without a filter" : parts.join(" and ");
}

/**
 * @param {Record<string, string>} query
 * @param {(changes: Record<string, string | null>) => void} filter
 * @param {(name: string) => (event: Event) => void} typed
 * @param {string[]} handlers
 */
export function filterBar(query, filter, typed, handlers) {
  return h(
    "form",
    { class: "filters", role: "search", on: { submit: (/** @type {Event} */ event) => event.preventDefault() } },
    h(
      "label",
      { class: "search" },
      h("span", { class: "unseen" }, "Search in names, handlers and keys"),
      icon("search"),
      h("input", {
        type: "search",
        name: "q",
        placeholder: "Search names, handlers, keys",
        autocomplete: "off",
        value: query.q ?? "",
        on: { input: typed("q") },
      }),
    ),
    h(
      "label",
      null,
      h("span", null, "Status"),
      h(
        "select",
        {
          name: "status",
          value: query.status ?? "",
          on: {
            change: (/** @type {Event} */ event) =>
              filter({ status: /** @type {HTMLSelectElement} */ (event.target).value }),
          },
        },
        h("option", { value: "" }, "Any"),
        STATUSES.map((status) =>
          h("option", { value: status, selected: status === query.status }, status.toLowerCase()),
        ),
      ),
    ),
    field("Handler", "handler", query, typed, "known-handlers"),
    field("Project", "project", query, typed),
    field("Owner", "owner", query, typed),
    h(
      "datalist",
      { id: "known-handlers" },
      handlers.map((name) => h("option", { value: name })),
    ),
    isFiltered(query)
      ? button("Clear", {
          kind: "quiet",
          on: { click: () => filter(Object.fromEntries(FILTERS.map((name) => [name, null]))) },
        })
      : null,
  );
}

/**
 * @param {string} label
 * @param {string} name
 * @param {Record<string, string>} query
 * @param {(name: string) => (event: Event) => void} typed
 * @param {string} [list]
 */
const field = (label, name, query, typed, list) =>
  h(
    "label",
    null,
    h("span", null, label),
    h("input", {
      name,
      list,
      placeholder: "Any",
      autocomplete: "off",
      spellcheck: "false",
      value: query[name] ?? "",
      on: { input: typed(name) },
    }),
  );
