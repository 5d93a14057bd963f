/**
 * The public API, and nothing else.
 *
 * @import { Page } from "./types.js"
 */

import * as clock from "./clock.js";
import { rawMembers } from "./json.js";
import * as session from "./session.js";

/** The most that the API gives at once. */
const PAGE = 100;
const BASE = new URL("../api/v1/", document.baseURI);

/** Why a request failed, in words for people. */
export class Problem extends Error {
  /**
   * @param {number} status 0 if there was no answer
   * @param {Record<string, any>} document
   */
  constructor(status, document) {
    super(document.detail || document.title || `the server answered ${status}`);
    this.status = status;
    /** @type {any} */
    this.document = document;
    /** @type {string} */
    this.code = document.error ?? "unknown";
    /** @type {{field: string, detail: string}[]} */
    this.faults = document.errors ?? (document.field ? [{ field: document.field, detail: document.detail }] : []);
    /** @type {number | null} */
    this.position = document.position ?? null;
    /** @type {string | null} */
    this.part = document.part ?? null;
  }
}

/**
 * @typedef {object} Options
 * @property {Record<string, string | number | null | undefined>} [query] what is empty is left out
 * @property {unknown} [body] becomes JSON
 * @property {string} [text] JSON already, sent as it is
 * @property {Record<string, string>} [headers]
 * @property {AbortSignal} [signal]
 */

/**
 * @param {string} path
 * @param {Options["query"]} [query]
 */
export function address(path, query = {}) {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, String(value));
  }
  return url;
}

/** @returns {Record<string, string>} */
export function credentials() {
  const key = session.key();
  return key === null ? {} : { Authorization: `Bearer ${key}` };
}

/**
 * @param {string} method
 * @param {string} path
 * @param {Options} [options]
 * @returns {Promise<any>}
 */
export async function ask(method, path, options = {}) {
  const text = await exchange(method, path, options);
  return text === "" ? null : JSON.parse(text);
}

/**
 * @param {string} path
 * @param {Options["query"]} [query]
 * @param {AbortSignal} [signal]
 */
export const get = (path, query, signal) => ask("GET", path, { query, signal });

/**
 * @param {string} path
 * @param {unknown} [body]
 */
export const post = (path, body) => ask("POST", path, { body });

/**
 * An object, and its members' own text: numbers that a browser would round are shown as they are.
 * @param {string} path
 * @returns {Promise<{value: any, raw: Map<string, string>}>}
 */
export async function getVerbatim(path) {
  const text = await exchange("GET", path, {});
  return { value: JSON.parse(text), raw: rawMembers(text) };
}

/** Something that nobody else thinks of: it makes a repeated request harmless. */
export const nonce = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/**
 * A list from its beginning: *most* items or a little more, but never more than a few pages, which may be short.
 * @template Item
 * @param {string} path
 * @param {Record<string, string | number>} query
 * @param {number} most
 * @returns {Promise<Page<Item>>}
 */
export async function collect(path, query, most) {
  /** @type {Item[]} */
  const items = [];
  /** @type {string | null} */
  let cursor = null;
  for (let pages = 0; pages < most / PAGE + 2 && items.length < most; pages += 1) {
    /** @type {Page<Item>} */
    const page = await get(path, { ...query, limit: PAGE, cursor });
    items.push(...page.items);
    cursor = page.next;
    if (cursor === null) break;
  }
  return { items, next: cursor };
}

/**
 * @param {string} method
 * @param {string} path
 * @param {Options} options
 */
async function exchange(method, path, { query, body, text, headers, signal }) {
  const content = text ?? (body === undefined ? undefined : JSON.stringify(body));
  /** @type {Record<string, string>} */
  const type = content === undefined ? {} : { "Content-Type": "application/json" };
  /** @type {Response} */
  let response;
  let received;
  try {
    response = await fetch(address(path, query), {
      method,
      body: content,
      signal,
      cache: "no-store",
      credentials: "omit",
      headers: { ...credentials(), ...type, ...headers },
    });
    received = await response.text();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, { detail: "The server can't be reached.", error: "unreachable" });
  }
  clock.observeDate(response.headers.get("Date"));
  if (response.ok) return received;
  if (response.status === 401) session.refused();
  throw new Problem(response.status, parsed(received));
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
