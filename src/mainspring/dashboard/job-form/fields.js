/**
 * The fields of a job.
 *
 * @import { Handler, Job } from "../types.js"
 */

import { h } from "../dom.js";
import { button } from "../parts.js";
import { field, select, zones } from "./field.js";

const PRESETS = ["now", "in 10m", "@every 5m", "0 6 * * 1-5", "@daily", "on-demand"];

/**
 * What nearly every job says.
 * @param {object} options
 * @param {Job | null} options.job null for a new one
 * @param {string} options.payload
 * @param {Handler[]} options.handlers
 * @param {() => void} options.example
 * @param {(schedule: string) => void} options.preset
 */
export function mainFields({ job, payload, handlers, example, preset }) {
  return [
    field(
      "Name",
      "name",
      h("input", { name: "name", autocomplete: "off", value: job?.name ?? "", placeholder: "nightly report" }),
      "For people: what you look for later.",
    ),
    field(
      "Handler",
      "handler",
      h("input", {
        name: "handler",
        required: true,
        list: "handlers",
        autocomplete: "off",
        spellcheck: "false",
        value: job?.handler ?? "",
        placeholder: "test.echo",
      }),
      "What executes it.",
    ),
    h(
      "datalist",
      { id: "handlers" },
      handlers.map(({ name, builtin }) => h("option", { value: name }, builtin ? "built in" : "yours")),
    ),
    field(
      "Payload",
      "payload",
      h("textarea", {
        name: "payload",
        rows: 5,
        spellcheck: "false",
        autocomplete: "off",
        placeholder: "null",
        value: payload,
      }),
      "Any JSON value; the handler is given it as it is.",
      button("Example", { kind: "quiet small", on: { click: example } }),
    ),
    field(
      "Schedule",
      "schedule",
      h("input", {
        name: "schedule",
        autocomplete: "off",
        spellcheck: "false",
        value: job?.schedule ?? "",
        placeholder: "now",
      }),
    ),
    h(
      "div",
      { class: "presets", role: "group", "aria-label": "Schedules to begin with" },
      PRESETS.map((each) => button(each, { kind: "chip", on: { click: () => preset(each) } })),
    ),
    field(
      "Time zone",
      "timezone",
      h("input", {
        name: "timezone",
        list: "zones",
        autocomplete: "off",
        spellcheck: "false",
        value: job?.timezone ?? "UTC",
      }),
      "An IANA name; cron follows its clock.",
    ),
    h(
      "datalist",
      { id: "zones" },
      ["UTC", ...zones()].map((name) => h("option", { value: name })),
    ),
  ];
}

/** What has a good default. @param {Job | null} job */
export function moreFields(job) {
  return h(
    "details",
    { class: "more" },
    h("summary", null, "Priority, retries, overlap and more"),
    h(
      "div",
      { class: "grid" },
      field(
        "Priority",
        "priority",
        h("input", { name: "priority", type: "number", min: 0, max: 100, value: job?.priority ?? 50 }),
        "0 to 100; higher goes first.",
      ),
      field(
        "Retries",
        "max_retries",
        h("input", { name: "max_retries", type: "number", min: 0, max: 1000, value: job?.max_retries ?? 3 }),
        "After a failure.",
      ),
      field("Backoff", "kind", select("kind", ["exponential", "fixed"], job?.retry.kind), "How waits grow."),
      field(
        "First wait (ms)",
        "initial_ms",
        h("input", { name: "initial_ms", type: "number", min: 0, value: job?.retry.initial_ms ?? 1000 }),
      ),
      field(
        "Longest wait (ms)",
        "max_ms",
        h("input", { name: "max_ms", type: "number", min: 0, value: job?.retry.max_ms ?? 60000 }),
      ),
      field(
        "Timeout (ms)",
        "timeout_ms",
        h("input", { name: "timeout_ms", type: "number", min: 1, value: job?.timeout_ms ?? 300000 }),
        "For one attempt.",
      ),
      field(
        "Overlap",
        "overlap",
        select("overlap", ["allow", "skip", "wait", "replace"], job?.overlap),
        "If the run before hasn't ended.",
      ),
      field(
        "Missed moments",
        "policy",
        select("policy", ["latest", "all", "none"], job?.misfire.policy),
        "Which of them run late.",
      ),
      field(
        "Clock goes forward",
        "gap",
        select("gap", ["next_valid", "skip"], job?.dst.gap),
        "A moment that doesn't exist.",
      ),
      field("Clock goes back", "fold", select("fold", ["first", "both"], job?.dst.fold), "A moment that comes twice."),
      field(
        "Lane",
        "lane",
        h("input", { name: "lane", autocomplete: "off", value: job?.lane ?? "", placeholder: "the handler's" }),
      ),
      field(
        "Project",
        "project_id",
        h("input", { name: "project_id", autocomplete: "off", value: job?.project_id ?? "default" }),
      ),
      field(
        "Not before",
        "starts_at",
        h("input", {
          name: "starts_at",
          autocomplete: "off",
          value: job?.starts_at ?? "",
          placeholder: "2030-01-31T09:00:00Z",
        }),
        "Where a recurring schedule begins.",
      ),
      job === null
        ? field(
            "Key",
            "key",
            h("input", { name: "key", autocomplete: "off", placeholder: "none" }),
            "Yours, once per owner: adding it again changes nothing.",
          )
        : null,
    ),
    field("Description", "description", h("textarea", { name: "description", rows: 2, value: job?.description ?? "" })),
    h(
      "label",
      { class: "tick" },
      h("input", { type: "checkbox", name: "allow_unknown_handler", checked: job?.allow_unknown_handler ?? false }),
      "Accept a handler that no worker has had yet",
    ),
  );
}
