/**
 * Questions that must be answered first. The browser's own dialog keeps the focus inside and closes on Escape.
 *
 * @import { Child } from "./types.js"
 */

import { h } from "./dom.js";

let number = 0;

/**
 * @param {{title: string, content: Child, buttons: HTMLElement[]}} options
 * @returns {HTMLDialogElement}
 */
export function open({ title, content, buttons }) {
  const id = `dialog-${(number += 1)}`;
  const dialog = h(
    "dialog",
    { class: "dialog", "aria-labelledby": id },
    h("h2", { id }, title),
    h("div", { class: "dialog-content" }, content),
    h("div", { class: "dialog-buttons" }, buttons),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Whether somebody said yes.
 * @param {{title: string, content: Child, yes: string, danger?: boolean}} options
 * @returns {Promise<boolean>}
 */
export function confirm({ title, content, yes, danger = false }) {
  return new Promise((resolve) => {
    let answer = false;
    const decide = () => {
      answer = true;
      dialog.close();
    };
    const dialog = open({
      title,
      content,
      buttons: [
        h("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, "Keep as it is"),
        h("button", { type: "button", class: `button ${danger ? "danger" : "primary"}`, on: { click: decide } }, yes),
      ],
    });
    dialog.addEventListener("close", () => resolve(answer));
  });
}
