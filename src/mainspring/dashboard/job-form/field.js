/** Fields of a form: a label, the control, a word of help, and room for what is wrong. */

import { h } from "../dom.js";

/**
 * @param {string} label
 * @param {string} name
 * @param {HTMLElement} control
 * @param {string} [help]
 * @param {HTMLElement | null} [beside]
 */
export function field(label, name, control, help = "", beside = null) {
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
export const select = (name, values, value) =>
  h(
    "select",
    { name, value: value ?? values[0] },
    values.map((each) => h("option", { value: each }, each.replace("_", " "))),
  );

/** @param {string} text */
export function payloadFault(text) {
  try {
    if (text !== "") JSON.parse(text);
    return null;
  } catch (error) {
    return `This isn't JSON: ${error instanceof Error ? error.message : error}`;
  }
}

/** @returns {string[]} */
export const zones = () => Intl.supportedValuesOf?.("timeZone") ?? [];

/**
 * Show each fault beside its field, and take those away that are no more; whether one belongs to no field.
 * @param {HTMLFormElement} form
 * @param {{field: string, detail: string}[]} faults
 */
export function showFaults(form, faults) {
  const left = new Set(faults);
  for (const place of form.querySelectorAll(".field")) {
    const name = /** @type {HTMLElement} */ (place).dataset.field;
    const fault = faults.find((each) => each.field.split(".").at(-1) === name);
    if (fault) left.delete(fault);
    showFault(form, name ?? "", fault?.detail ?? "");
  }
  return left.size > 0;
}

/**
 * @param {HTMLFormElement} form
 * @param {string} name
 * @param {string} detail empty if all is well
 */
export function showFault(form, name, detail) {
  const place = form.querySelector(`[data-field="${CSS.escape(name)}"]`);
  const control = place?.querySelector("input, select, textarea");
  if (detail) control?.setAttribute("aria-invalid", "true");
  else control?.removeAttribute("aria-invalid");
  const line = place?.querySelector(".fault");
  if (line) line.textContent = detail;
}
