/**
 * A job to be added or changed. While the schedule is typed it is put into words, and the server says when it fires.
 *
 * @import { Handler, Job, Page, Screen } from "../types.js"
 */

import { nameOf } from "../actions.js";
import { Problem, ask, get, getVerbatim, nonce } from "../api.js";
import { h, refresh } from "../dom.js";
import { button, failure, heading, loading, section, settled } from "../parts.js";
import { href, navigate } from "../router.js";
import { Upcoming } from "../upcoming.js";
import { tell } from "../toast.js";

const PRESETS = ["now", "in 10m", "@every 5m", "0 6 * * 1-5", "@daily", "on-demand"];
/** What built-in handlers take. @type {Record<string, string>} */
const EXAMPLES = {
  "http.webhook": '{"url": "https://example.com/hook", "method": "POST", "body": {"hello": "world"}}',
  "shell.command": '{"command": "echo", "args": ["hello"]}',
  "shell.script": '"echo hello"',
  "test.echo": '{"message": "hello"}',
  "test.delay": '{"durationMs": 2000}',
  "test.log": '{"message": "hello"}',
  "system.cleanup": '{"olderThanDays": 84}',
};
const NUMBERS = ["priority", "max_retries", "timeout_ms"];
const TEXTS = ["name", "description", "handler", "schedule", "timezone", "project_id", "overlap"];
/** Empty means that the server decides. */
const OPTIONAL = ["lane", "starts_at", "key"];

/** @param {string | null} id null for a new one @returns {Screen} */
export function jobFormPage(id) {
  const element = h("div", { class: "page form-page" });
  const title = id === null ? "New job" : "Edit job";
  let form = /** @type {JobForm | null} */ (null);

  const begin = async () => {
    refresh(element, heading(title), loading());
    try {
      const [{ items }, current] = await Promise.all([
        /** @type {Promise<Page<Handler>>} */ (get("handlers").catch(() => ({ items: [], next: null }))),
        id === null ? null : getVerbatim(`jobs/${id}`),
      ]);
      form = new JobForm(current?.value ?? null, current?.raw.get("payload") ?? "null", items);
      refresh(element, heading(current ? `Edit ${nameOf(current.value)}` : title), form.element);
      if (id === null) form.element.querySelector("input")?.focus();
    } catch (error) {
      refresh(element, heading(title), failure(error, () => void begin()));
    }
  };
  void begin();
  return { title, element, dispose: () => form?.dispose() };
}

class JobForm {
  /** Makes saving twice harmless when an answer is lost. */
  #nonce = nonce();

  /**
   * @param {Job | null} job
   * @param {string} payload
   * @param {Handler[]} handlers
   */
  constructor(job, payload, handlers) {
    this.job = job;
    this.payload = payload;
    this.upcoming = new Upcoming();
    this.faults = h("div", { class: "faults", role: "alert" });
    this.save = button(job ? "Save changes" : "Add job", { kind: "primary" });
    this.save.type = "submit";
    this.form = h("form", { class: "form", novalidate: true, on: { submit: (/** @type {Event} */ event) => void this.#submit(event) } });
    this.form.append(...this.#fields(handlers));
    this.element = h("div", { class: "form-columns", keep: true, key: "form" }, this.form, section("When it runs", this.upcoming.element, { class: "upcoming" }));
    const preview = settled(() => this.#preview(), 150);
    this.form.addEventListener("input", (event) => {
      const name = /** @type {HTMLInputElement} */ (event.target).name;
      if (name === "schedule") this.upcoming.explain(this.#value("schedule"));
      if (["schedule", "timezone", "starts_at", "gap", "fold"].includes(name)) preview();
      if (name === "payload") this.#checkPayload();
    });
    this.#preview();
  }

  dispose() {
    this.upcoming.dispose();
  }

  /** @param {string} name */
  #control(name) {
    return /** @type {HTMLInputElement} */ (this.form.elements.namedItem(name));
  }

  /** @param {string} name */
  #value(name) {
    return this.#control(name).value.trim();
  }

  #preview() {
    void this.upcoming.show({
      schedule: this.#value("schedule") || "now",
      timezone: this.#value("timezone") || "UTC",
      starts_at: this.#value("starts_at") || null,
      dst: { gap: this.#value("gap"), fold: this.#value("fold") },
    });
  }

  /** @param {Handler[]} handlers */
  #fields(handlers) {
    const job = this.job;
    const text = job === null ? "" : this.payload;
    const example = () => {
      this.#control("payload").value = EXAMPLES[this.#value("handler")] ?? "{}";
      this.#checkPayload();
    };
    const preset = (/** @type {string} */ schedule) => () => {
      this.#control("schedule").value = schedule;
      this.upcoming.explain(schedule);
      this.#preview();
      this.#control("schedule").focus();
    };
    return [
      this.faults,
      field("Name", "name", h("input", { name: "name", autocomplete: "off", value: job?.name ?? "", placeholder: "nightly report" }), "For people: what you look for later."),
      field("Handler", "handler", h("input", { name: "handler", required: true, list: "handlers", autocomplete: "off", spellcheck: "false", value: job?.handler ?? "", placeholder: "test.echo" }), "What executes it."),
      h("datalist", { id: "handlers" }, handlers.map(({ name, builtin }) => h("option", { value: name }, builtin ? "built in" : "yours"))),
      field("Payload", "payload", h("textarea", { name: "payload", rows: 5, spellcheck: "false", autocomplete: "off", placeholder: "null", value: text }), "Any JSON value; the handler is given it as it is.", button("Example", { kind: "quiet small", on: { click: example } })),
      field("Schedule", "schedule", h("input", { name: "schedule", autocomplete: "off", spellcheck: "false", value: job?.schedule ?? "", placeholder: "now" })),
      h("div", { class: "presets", role: "group", "aria-label": "Schedules to begin with" }, PRESETS.map((each) => button(each, { kind: "chip", on: { click: preset(each) } }))),
      field("Time zone", "timezone", h("input", { name: "timezone", list: "zones", autocomplete: "off", spellcheck: "false", value: job?.timezone ?? "UTC" }), "An IANA name; cron follows its clock."),
      h("datalist", { id: "zones" }, ["UTC", ...zones()].map((name) => h("option", { value: name }))),
      this.#more(),
      h("div", { class: "form-buttons" }, this.save, h("a", { class: "button", href: job ? href(["jobs", job.id]) : href(["jobs"]) }, "Cancel")),
    ];
  }

  #more() {
    const job = this.job;
    return h(
      "details",
      { class: "more" },
      h("summary", null, "Priority, retries, overlap and more"),
      h(
        "div",
        { class: "grid" },
        field("Priority", "priority", h("input", { name: "priority", type: "number", min: 0, max: 100, value: job?.priority ?? 50 }), "0 to 100; higher goes first."),
        field("Retries", "max_retries", h("input", { name: "max_retries", type: "number", min: 0, max: 1000, value: job?.max_retries ?? 3 }), "After a failure."),
        field("Backoff", "kind", select("kind", ["exponential", "fixed"], job?.retry.kind), "How waits grow."),
        field("First wait (ms)", "initial_ms", h("input", { name: "initial_ms", type: "number", min: 0, value: job?.retry.initial_ms ?? 1000 })),
        field("Longest wait (ms)", "max_ms", h("input", { name: "max_ms", type: "number", min: 0, value: job?.retry.max_ms ?? 60000 })),
        field("Timeout (ms)", "timeout_ms", h("input", { name: "timeout_ms", type: "number", min: 1, value: job?.timeout_ms ?? 300000 }), "For one attempt."),
        field("Overlap", "overlap", select("overlap", ["allow", "skip", "wait", "replace"], job?.overlap), "If the run before hasn't ended."),
        field("Missed moments", "policy", select("policy", ["latest", "all", "none"], job?.misfire.policy), "Which of them run late."),
        field("Clock goes forward", "gap", select("gap", ["next_valid", "skip"], job?.dst.gap), "A moment that doesn't exist."),
        field("Clock goes back", "fold", select("fold", ["first", "both"], job?.dst.fold), "A moment that comes twice."),
        field("Lane", "lane", h("input", { name: "lane", autocomplete: "off", value: job?.lane ?? "", placeholder: "the handler's" })),
        field("Project", "project_id", h("input", { name: "project_id", autocomplete: "off", value: job?.project_id ?? "default" })),
        field("Not before", "starts_at", h("input", { name: "starts_at", autocomplete: "off", value: job?.starts_at ?? "", placeholder: "2030-01-31T09:00:00Z" }), "Where a recurring schedule begins."),
        job === null ? field("Key", "key", h("input", { name: "key", autocomplete: "off", placeholder: "none" }), "Yours, once per owner: adding it again changes nothing.") : null,
      ),
      field("Description", "description", h("textarea", { name: "description", rows: 2, value: job?.description ?? "" })),
      h("label", { class: "tick" }, h("input", { type: "checkbox", name: "allow_unknown_handler", checked: job?.allow_unknown_handler ?? false }), "Accept a handler that no worker has had yet"),
    );
  }

  #checkPayload() {
    const fault = payloadFault(this.#value("payload"));
    this.#point([{ field: "payload", detail: fault ?? "" }]);
    return fault === null;
  }

  /**
   * What is to be sent: for a job that exists only what has changed, so that others' changes stay.
   * @returns {string}
   */
  #body() {
    /** @type {Record<string, unknown>} */
    const fields = {};
    const before = /** @type {Record<string, any>} */ (this.job ?? {});
    for (const name of TEXTS) if (this.#value(name) !== String(before[name] ?? "")) fields[name] = this.#value(name);
    for (const name of OPTIONAL) {
      const value = this.#control(name)?.value.trim() ?? "";
      if (value !== String(before[name] ?? "")) fields[name] = value === "" ? null : value;
    }
    for (const name of NUMBERS) if (Number(this.#value(name)) !== before[name]) fields[name] = Number(this.#value(name));
    const retry = { ...before.retry, kind: this.#value("kind"), initial_ms: Number(this.#value("initial_ms")), max_ms: Number(this.#value("max_ms")) };
    const groups = { retry, misfire: { ...before.misfire, policy: this.#value("policy") }, dst: { gap: this.#value("gap"), fold: this.#value("fold") } };
    for (const [name, value] of Object.entries(groups)) if (JSON.stringify(value) !== JSON.stringify(before[name])) fields[name] = value;
    const unknown = this.#control("allow_unknown_handler").checked;
    if (unknown !== (before.allow_unknown_handler ?? false)) fields.allow_unknown_handler = unknown;
    const payload = this.#value("payload") || "null";
    const text = JSON.stringify(fields);
    if (payload === this.payload) return text;
    return text === "{}" ? `{"payload":${payload}}` : `${text.slice(0, -1)},"payload":${payload}}`;
  }

  /** @param {Event} event */
  async #submit(event) {
    event.preventDefault();
    this.#point([]);
    if (this.#value("handler") === "") return this.#point([{ field: "handler", detail: "say what executes it" }]);
    if (!this.#checkPayload()) return this.#control("payload").focus();
    this.save.disabled = true;
    try {
      const saved = await this.#send(this.#body());
      tell(this.job ? `Saved ${nameOf(saved)}.` : `Added ${nameOf(saved)}.`);
      navigate(["jobs", saved.id]);
    } catch (error) {
      this.#complain(error);
    } finally {
      this.save.disabled = false;
    }
  }

  /**
   * @param {string} text
   * @returns {Promise<Job>}
   */
  #send(text) {
    if (this.job) return ask("PATCH", `jobs/${this.job.id}`, { text, headers: { "If-Match": `"${this.job.version}"` } });
    const headers = this.#value("key") ? undefined : { "Idempotency-Key": this.#nonce };
    return ask("POST", "jobs", { text, headers });
  }

  /** @param {unknown} error */
  #complain(error) {
    if (error instanceof Problem && error.status === 412) {
      refresh(this.faults, "Somebody has changed this job meanwhile. ", h("a", { href: location.hash, on: { click: () => location.reload() } }, "Load it again"));
      return;
    }
    // The same key with other content would be refused: the next try is another job.
    this.#nonce = nonce();
    const faults = error instanceof Problem ? error.faults : [];
    const unplaced = this.#point(faults);
    const message = error instanceof Error ? error.message : String(error);
    refresh(this.faults, faults.length === 0 || unplaced ? message : "");
    this.form.querySelector("[aria-invalid=true]")?.closest("details")?.setAttribute("open", "");
    /** @type {HTMLElement | null} */ (this.form.querySelector("[aria-invalid=true]"))?.focus();
  }

  /**
   * Show each fault beside its field; whether one has none.
   * @param {{field: string, detail: string}[]} faults
   */
  #point(faults) {
    let unplaced = false;
    if (faults.length !== 1 || faults[0].field !== "payload") refresh(this.faults);
    for (const place of this.form.querySelectorAll(".field")) {
      const name = /** @type {HTMLElement} */ (place).dataset.field ?? "";
      const fault = faults.find((each) => each.field === name || each.field.split(".").at(-1) === name);
      const control = place.querySelector("input, select, textarea");
      if (faults.length === 1 && faults[0].field === "payload" && name !== "payload") continue;
      if (fault?.detail) control?.setAttribute("aria-invalid", "true");
      else control?.removeAttribute("aria-invalid");
      const line = place.querySelector(".fault");
      if (line) line.textContent = fault?.detail ?? "";
    }
    for (const { field: name } of faults) {
      if (this.form.querySelector(`[data-field="${CSS.escape(name.split(".").at(-1) ?? "")}"]`) === null) unplaced = true;
    }
    return unplaced;
  }
}

/**
 * @param {string} label
 * @param {string} name
 * @param {HTMLElement} control
 * @param {string} [help]
 * @param {HTMLElement | null} [beside]
 */
function field(label, name, control, help = "", beside = null) {
  control.id = `field-${name}`;
  control.setAttribute("aria-describedby", `help-${name} fault-${name}`);
  return h(
    "div",
    { class: "field", "data-field": name },
    h("div", { class: "label" }, h("label", { for: control.id }, label), beside),
    control,
    h("p", { class: "help", id: `help-${name}` }, help),
    h("p", { class: "fault", id: `fault-${name}` }),
  );
}

/**
 * @param {string} name
 * @param {string[]} values
 * @param {string | undefined} value
 */
const select = (name, values, value) =>
  h("select", { name, value: value ?? values[0] }, values.map((each) => h("option", { value: each }, each.replace("_", " "))));

/** @param {string} text */
function payloadFault(text) {
  try {
    if (text !== "") JSON.parse(text);
    return null;
  } catch (error) {
    return `This isn't JSON: ${error instanceof Error ? error.message : error}`;
  }
}

/** @returns {string[]} */
const zones = () => Intl.supportedValuesOf?.("timeZone") ?? [];
