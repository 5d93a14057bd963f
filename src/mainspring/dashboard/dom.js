/**
 * Elements made by calls, and refreshed in place.
 *
 * A page says how it looks now; `refresh` changes what is there until it looks like that. Focus, selection, scrolling
 * and open details survive, and nothing is ever parsed as HTML: text is text.
 *
 * @import { Child, Properties } from "./types.js"
 */

const SVG = "http://www.w3.org/2000/svg";
/** Properties that say what the element is in now, where the attribute would only say how it began. */
const LIVE = new Set(["value", "checked", "disabled", "indeterminate", "selected"]);

/**
 * What a node was made with beside its attributes. It belongs to the node, and goes with it: a table of all nodes would
 * be as large as what a busy page makes of them between two collections.
 */
const MADE = Symbol("made");
/** @typedef {{key?: string, keep?: boolean, listeners?: Record<string, (event: any) => void>}} Made */
/** @type {Made} */
const PLAIN = Object.freeze({});

/**
 * @param {Node} node
 * @returns {Made}
 */
const made = (node) => /** @type {any} */ (node)[MADE] ?? PLAIN;

/**
 * @param {Node} node
 * @param {Made} more
 */
function note(node, more) {
  /** @type {any} */ (node)[MADE] = { ...made(node), ...more };
}

/**
 * An HTML element.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Properties | null} [properties]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  dress(element, properties ?? {});
  append(element, children);
  // A choice exists only once its options do.
  if (element instanceof HTMLSelectElement && properties?.value != null) element.value = String(properties.value);
  return element;
}

/**
 * An SVG element.
 * @param {string} tag
 * @param {Properties | null} [properties]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function s(tag, properties, ...children) {
  const element = /** @type {SVGElement} */ (document.createElementNS(SVG, tag));
  dress(element, properties ?? {});
  append(element, children);
  return element;
}

/**
 * Make *target* hold what *children* say, keeping the nodes that are right already.
 * @param {Element} target
 * @param {...Child} children
 */
export function refresh(target, ...children) {
  const wanted = /** @type {Node[]} */ (flat(children).map((each) => (each instanceof Node ? each : text(each))));
  refreshChildren(target, wanted);
}

/**
 * @param {Element} element
 * @param {Properties} properties
 */
function dress(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined) continue;
    if (name === "on") listen(element, /** @type {Record<string, (event: any) => void>} */ (value));
    else if (name === "key") note(element, { key: String(value) });
    else if (name === "keep") note(element, { keep: true });
    else if (name === "style") restyle(/** @type {HTMLElement} */ (element), /** @type {any} */ (value));
    else if (LIVE.has(name) && name in element) /** @type {any} */ (element)[name] = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
}

/**
 * Styles go through the object model: an attribute would be refused by the content security policy.
 * @param {HTMLElement | SVGElement} element
 * @param {Record<string, string | number>} values
 */
function restyle(element, values) {
  for (const [name, value] of Object.entries(values)) element.style.setProperty(name, String(value));
}

/**
 * @param {Element} element
 * @param {Record<string, (event: any) => void>} wanted
 */
function listen(element, wanted) {
  const known = made(element).listeners ?? {};
  for (const type of Object.keys(wanted)) if (!(type in known)) element.addEventListener(type, dispatch);
  const silenced = Object.fromEntries(Object.keys(known).map((type) => [type, () => {}]));
  note(element, { listeners: { ...silenced, ...wanted } });
}

/** @param {Event} event */
function dispatch(event) {
  if (event.currentTarget instanceof Node) made(event.currentTarget).listeners?.[event.type]?.(event);
}

/**
 * @param {Element} element
 * @param {Child[]} children
 */
function append(element, children) {
  for (const child of flat(children)) element.append(child instanceof Node ? child : text(child));
}

/**
 * @param {Child[]} children
 * @returns {(Node | string | number)[]}
 */
function flat(children) {
  return /** @type {any[]} */ (children.flat(/** @type {1} */ (Infinity))).filter(
    (each) => each !== null && each !== undefined && each !== false,
  );
}

/** @param {string | number} content */
const text = (content) => document.createTextNode(String(content));

/**
 * @param {Node} old
 * @param {Node} wanted
 */
const alike = (old, wanted) => old.nodeName === wanted.nodeName && made(old).key === made(wanted).key;

/**
 * @param {Element} target
 * @param {Node[]} wanted
 */
function refreshChildren(target, wanted) {
  const keyed = new Map();
  for (const child of target.childNodes) {
    const { key } = made(child);
    if (key !== undefined) keyed.set(key, child);
  }
  let current = target.firstChild;
  for (const child of wanted) {
    const { key } = made(child);
    const old = key === undefined ? current : (keyed.get(key) ?? null);
    if (old === child) {
      current = child.nextSibling;
    } else if (old !== null && alike(old, child)) {
      if (old === current) current = current?.nextSibling ?? null;
      else target.insertBefore(old, current);
      refreshNode(old, child);
    } else {
      target.insertBefore(child, current);
    }
  }
  while (current !== null) {
    const next = current.nextSibling;
    current.remove();
    current = next;
  }
}

/**
 * @param {Node} old
 * @param {Node} wanted
 */
function refreshNode(old, wanted) {
  if (!(old instanceof Element) || !(wanted instanceof Element)) {
    if (old.nodeValue !== wanted.nodeValue) old.nodeValue = wanted.nodeValue;
    return;
  }
  if (made(old).listeners || made(wanted).listeners) listen(old, made(wanted).listeners ?? {});
  if (made(old).keep) return;
  refreshAttributes(old, wanted);
  refreshChildren(old, [...wanted.childNodes]);
  refreshState(old, wanted);
}

/**
 * @param {Element} old
 * @param {Element} wanted
 */
function refreshAttributes(old, wanted) {
  for (const { name } of [...old.attributes]) {
    // Whether details are open is the reader's choice.
    const own = name === "open" && old.nodeName === "DETAILS";
    if (!wanted.hasAttribute(name) && !own) old.removeAttribute(name);
  }
  for (const { name, value } of [...wanted.attributes]) {
    if (name === "style") {
      /** @type {HTMLElement} */ (old).style.cssText = /** @type {HTMLElement} */ (wanted).style.cssText;
    } else if (old.getAttribute(name) !== value) {
      old.setAttribute(name, value);
    }
  }
}

/**
 * @param {any} old
 * @param {any} wanted
 */
function refreshState(old, wanted) {
  for (const name of LIVE) {
    // What somebody is typing stays.
    if (name === "value" && (!("value" in old) || old === document.activeElement || old.nodeName === "LI")) continue;
    if (name in old && old[name] !== wanted[name]) old[name] = wanted[name];
  }
}
