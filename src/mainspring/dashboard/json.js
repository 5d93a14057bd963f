/** JSON as text. Numbers, the order of members and their spelling stay as somebody wrote them. */

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/gy;

/**
 * The text of each member of a JSON object.
 * @param {string} text
 * @returns {Map<string, string>}
 */
export function rawMembers(text) {
  const members = new Map();
  let depth = 0;
  let name = "";
  let start = -1;
  for (const { value, at, end } of tokens(text)) {
    if (value === "{" || value === "[") depth += 1;
    if (depth === 1 && start === -1 && value.startsWith('"')) name = JSON.parse(value);
    else if (depth === 1 && start === -1 && value === ":") start = end;
    else if (start !== -1 && depth === 1 && (value === "," || value === "}")) {
      members.set(name, text.slice(start, at).trim());
      start = -1;
    }
    if (value === "}" || value === "]") depth -= 1;
  }
  return members;
}

/**
 * The same value, one member to a line.
 * @param {string} text
 */
export function indented(text) {
  let depth = 0;
  let written = "";
  let before = "";
  const line = () => "\n" + "  ".repeat(depth);
  for (const { value } of tokens(text)) {
    const closes = value === "}" || value === "]";
    const opened = before === "{" || before === "[";
    if (closes) depth -= 1;
    if (closes ? !opened : opened || before === ",") written += line();
    written += value === ":" ? ": " : value;
    if (value === "{" || value === "[") depth += 1;
    before = value;
  }
  return written;
}

/**
 * @param {string} text
 * @returns {Generator<{value: string, at: number, end: number}>}
 */
function* tokens(text) {
  let position = 0;
  while (position < text.length) {
    if (/\s/.test(text[position])) {
      position += 1;
      continue;
    }
    TOKEN.lastIndex = position;
    const match = TOKEN.exec(text);
    if (match === null) return;
    position = TOKEN.lastIndex;
    yield { value: match[0], at: match.index, end: position };
  }
}
