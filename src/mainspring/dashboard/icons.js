/** Small pictures, drawn with the text's colour and hidden from those who listen: words beside them say it all. */

import { s } from "./dom.js";

/** Each is drawn in a square of 16 units. @type {Record<string, string>} */
const PATHS = {
  overview: "M2 9.5h3l2-6 3 9 2-5h2",
  jobs: "M2.5 3.5h11v3h-11zM2.5 9.5h11v3h-11z",
  executions: "M5 3l8 5-8 5z",
  dead: "M2.5 4h11v8h-11zM2.5 4.5l5.5 4.5 5.5-4.5",
  workers: "M4.5 4.5h7v7h-7zM6.5 2v2.5M9.5 2v2.5M6.5 11.5V14M9.5 11.5V14M2 6.5h2.5M2 9.5h2.5M11.5 6.5H14M11.5 9.5H14",
  locks: "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
  unlock: "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 4.8-1",
  audit: "M4 2.5h8v11H4zM6 5.5h4M6 8h4M6 10.5h2.5",
  settings: "M2.5 5h6M11.5 5h2M2.5 11h2M7.5 11h6M8.5 3.5v3M4.5 9.5v3",
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9M10.5 10.5l3 3",
  plus: "M8 3v10M3 8h10",
  play: "M5 3.5l7 4.5-7 4.5z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  resume: "M4 3.5v9M7 3.5l6 4.5-6 4.5z",
  stop: "M4.5 4.5h7v7h-7z",
  trash: "M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.5 9h6l.5-9",
  edit: "M3 13l.8-3L10.5 3.3l2.2 2.2L6 12.2z",
  retry: "M12.5 8a4.5 4.5 0 1 1-1.5-3.4M11.3 2v3h-3",
  check: "M3.5 8.5l3 3 6-7",
  cross: "M4 4l8 8M12 4l-8 8",
  wait: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M8 5v3.2l2.2 1.5",
  question: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M6.4 6.4a1.7 1.7 0 1 1 2.4 1.8c-.5.3-.8.6-.8 1.2M8 11.2v.1",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  copy: "M5.5 5.5h7v8h-7zM3.5 10.5v-8h7",
  sun: "M8 5.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5M8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1",
};

/** @param {string} name */
export function icon(name) {
  return s(
    "svg",
    { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" },
    s("path", { d: PATHS[name] }),
  );
}
