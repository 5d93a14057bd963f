/**
 * Addresses: what stands after the # names the page and its filters, so that both can be kept and shared.
 *
 * @import { Route } from "./types.js"
 */

/** @returns {Route} */
export function currentRoute() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return {
    path: path.split("/").filter(Boolean).map(decode),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

/**
 * @param {string[]} path
 * @param {Record<string, string | null | undefined>} [query] what is empty is left out
 */
export function href(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value);
  const search = new URLSearchParams(/** @type {[string, string][]} */ (given)).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${search && `?${search}`}`;
}

/**
 * @param {string[]} path
 * @param {Record<string, string | null | undefined>} [query]
 * @param {{replace?: boolean}} [options] replace: going back leads to the page before
 */
export function navigate(path, query = {}, { replace = false } = {}) {
  const target = href(path, query);
  if (target === location.hash) return;
  if (replace) {
    history.replaceState(null, "", target);
    globalThis.dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = target;
  }
}

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
