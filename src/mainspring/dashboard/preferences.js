/** What somebody likes to see; kept by the browser, never sent anywhere. */

const NAME = "mainspring.preferences";
/** @typedef {{theme: "system" | "light" | "dark", zone: "local" | "UTC", traces: string}} Preferences */

/** @type {Preferences} */
const DEFAULTS = { theme: "system", zone: "local", traces: "" };

/** @type {Preferences} */
let current = { ...DEFAULTS, ...read() };

export const preferences = () => current;

/** @param {Partial<Preferences>} changes */
export function prefer(changes) {
  current = { ...current, ...changes };
  try {
    localStorage.setItem(NAME, JSON.stringify(current));
  } catch {
    // Browsers can forbid it: the choice then holds for this tab.
  }
  apply();
}

/** Put the theme on the document; without one the system's choice holds. */
export function apply() {
  if (current.theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = current.theme;
}

/** The time zone in which times are shown; undefined for the browser's own. */
export const zone = () => (current.zone === "UTC" ? "UTC" : undefined);

/**
 * Where the trace of an execution is to be seen; null if nobody said. Only addresses of web pages are links.
 * @param {{id: string, job_id: string, started_at: string | null}} run
 */
export function traceLink(run) {
  if (!/^https?:\/\//i.test(current.traces)) return null;
  return current.traces
    .replaceAll("{execution}", encodeURIComponent(run.id))
    .replaceAll("{job}", encodeURIComponent(run.job_id));
}

/** @returns {Partial<Preferences>} */
function read() {
  try {
    return JSON.parse(localStorage.getItem(NAME) ?? "{}");
  } catch {
    return {};
  }
}
