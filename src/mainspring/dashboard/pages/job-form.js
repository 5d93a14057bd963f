/**
 * A job to be added or changed. While the schedule is typed it is put into words, and the server says when it fires.
 *
 * @import { Handler, Job, Page, Screen } from "../types.js"
 */

import { nameOf } from "../actions.js";
import { Problem, ask, get, getVerbatim, nonce } from "../api.js";
import { h, refresh } from "../dom.js";
import { EXAMPLES, bodyOf } from "../job-form/body.js";
import { payloadFault, showFault, showFaults } from "../job-form/field.js";
import { mainFields, moreFields } from "../job-form/fields.js";
import { button, failure, heading, loading, section, settled } from "../parts.js";
import { href, navigate } from "../router.js";
import { tell } from "../toast.js";
import { Upcoming } from "../upcoming.js";

const TIMING = ["schedule", "timezone", "starts_at", "gap", "fold"];

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
      const again = () => void begin();
      refresh(element, heading(title), failure(error, again));
    }
  };
  void begin();
  return { title, element, dispose: () => form?.dispose() };
}

class JobForm {
  /** Makes saving twice harmless when an answer is lost. */
  #nonce = nonce();
  #upcoming = new Upcoming();
  #faults = h("div", { class: "faults", role: "alert" });

  /**
   * @param {Job | null} job
   * @param {string} payload
   * @param {Handler[]} handlers
   */
  constructor(job, payload, handlers) {
    this.job = job;
    this.payload = payload;
    this.save = button(job ? "Save changes" : "Add job", { kind: "primary" });
    this.save.type = "submit";
    const submit = (/** @type {Event} */ event) => void this.#submit(event);
    this.form = h("form", { class: "form", novalidate: true, on: { submit } }, this.#content(handlers));
    this.element = h(
      "div",
      { class: "form-columns", keep: true, key: "form" },
      this.form,
      section("When it runs", this.#upcoming.element, { class: "upcoming" }),
    );
    this.form.addEventListener("input", (event) => this.#typed(/** @type {HTMLInputElement} */ (event.target).name));
    this.#preview();
  }

  dispose() {
    this.#previewSoon.end();
    this.#upcoming.dispose();
  }

  /** @param {Handler[]} handlers */
  #content(handlers) {
    const { job } = this;
    const preset = (/** @type {string} */ schedule) => {
      this.#control("schedule").value = schedule;
      this.#control("schedule").focus();
      this.#preview();
    };
    const example = () => {
      this.#control("payload").value = EXAMPLES[this.#value("handler")] ?? "{}";
      this.#checkPayload();
    };
    return [
      this.#faults,
      mainFields({ job, payload: job === null ? "" : this.payload, handlers, example, preset }),
      moreFields(job),
      h(
        "div",
        { class: "form-buttons" },
        this.save,
        h("a", { class: "button", href: job ? href(["jobs", job.id]) : href(["jobs"]) }, "Cancel"),
      ),
    ];
  }

  /** @param {string} name */
  #control(name) {
    return /** @type {HTMLInputElement} */ (this.form.elements.namedItem(name));
  }

  /** @param {string} name */
  #value(name) {
    return this.#control(name)?.value.trim() ?? "";
  }

  #previewSoon = settled(() => this.#preview(), 150);

  /** @param {string} name */
  #typed(name) {
    if (name === "schedule") this.#upcoming.explain(this.#value("schedule"));
    if (TIMING.includes(name)) this.#previewSoon.call();
    if (name === "payload") this.#checkPayload();
  }

  #preview() {
    void this.#upcoming.show({
      schedule: this.#value("schedule") || "now",
      timezone: this.#value("timezone") || "UTC",
      starts_at: this.#value("starts_at") || null,
      dst: { gap: this.#value("gap"), fold: this.#value("fold") },
    });
  }

  #checkPayload() {
    const fault = payloadFault(this.#value("payload"));
    showFault(this.form, "payload", fault ?? "");
    return fault === null;
  }

  /** @param {Event} event */
  async #submit(event) {
    event.preventDefault();
    refresh(this.#faults);
    showFaults(this.form, []);
    if (this.#value("handler") === "") {
      this.#complain(new Problem(422, { field: "handler", detail: "say what executes it" }));
      return;
    }
    if (!this.#checkPayload()) {
      this.#control("payload").focus();
      return;
    }
    this.save.disabled = true;
    try {
      const saved = await this.#send();
      tell(this.job ? `Saved ${nameOf(saved)}.` : `Added ${nameOf(saved)}.`);
      navigate(["jobs", saved.id]);
    } catch (error) {
      this.#complain(error);
    } finally {
      this.save.disabled = false;
    }
  }

  /** @returns {Promise<Job>} */
  #send() {
    const text = bodyOf((name) => this.#value(name), this.#control("allow_unknown_handler").checked, this);
    if (this.job)
      return ask("PATCH", `jobs/${this.job.id}`, { text, headers: { "If-Match": `"${this.job.version}"` } });
    const headers = this.#value("key") ? undefined : { "Idempotency-Key": this.#nonce };
    return ask("POST", "jobs", { text, headers });
  }

  /** @param {unknown} error */
  #complain(error) {
    if (error instanceof Problem && error.status === 412) {
      const reload = h("a", { href: location.hash, on: { click: () => location.reload() } }, "Load it again");
      refresh(this.#faults, "Somebody has changed this job meanwhile. ", reload);
      return;
    }
    // With other content the same key would be refused: what is sent next is another request.
    if (error instanceof Problem && error.status !== 0) this.#nonce = nonce();
    const faults = error instanceof Problem ? error.faults : [];
    const unplaced = showFaults(this.form, faults) || faults.length === 0;
    refresh(this.#faults, unplaced ? (error instanceof Error ? error.message : String(error)) : null);
    const first = this.form.querySelector("[aria-invalid=true]");
    first?.closest("details")?.setAttribute("open", "");
    if (first instanceof HTMLElement) first.focus();
  }
}
