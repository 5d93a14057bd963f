/**
 * What a form is sent as: for a job that exists only what has changed, so that others' changes stay.
 *
 * @import { Job } from "../types.js"
 */

const NUMBERS = ["priority", "max_retries", "timeout_ms"];
const TEXTS = ["name", "description", "handler", "schedule", "timezone", "project_id", "overlap"];
/** Empty means that the server decides. */
const OPTIONAL = ["lane", "starts_at", "key"];

/** What built-in handlers take. @type {Record<string, string>} */
export const EXAMPLES = {
  "http.webhook": '{"url": "https://example.com/hook", "method": "POST", "body": {"hello": "world"}}',
  "shell.command": '{"command": "echo", "args": ["hello"]}',
  "shell.script": '"echo hello"',
  "test.echo": '{"message": "hello"}',
  "test.delay": '{"durationMs": 2000}',
  "test.log": '{"message": "hello"}',
  "system.cleanup": '{"olderThanDays": 84}',
};

/**
 * The body's text, with the payload as it was typed.
 * @param {(name: string) => string} value what a field holds; empty if there is none
 * @param {boolean} unknownHandler
 * @param {{job: Job | null, payload: string}} before
 */
export function bodyOf(value, unknownHandler, { job, payload }) {
  const before = /** @type {Record<string, any>} */ (job ?? {});
  /** @type {Record<string, unknown>} */
  const fields = {};
  for (const name of TEXTS) if (value(name) !== String(before[name] ?? "")) fields[name] = value(name);
  for (const name of OPTIONAL) if (value(name) !== String(before[name] ?? "")) fields[name] = value(name) || null;
  for (const name of NUMBERS) if (Number(value(name)) !== before[name]) fields[name] = Number(value(name));
  for (const [name, group] of Object.entries(groups(value, before))) {
    if (JSON.stringify(group) !== JSON.stringify(before[name])) fields[name] = group;
  }
  if (unknownHandler !== (before.allow_unknown_handler ?? false)) fields.allow_unknown_handler = unknownHandler;
  const text = JSON.stringify(fields);
  const typed = value("payload") || "null";
  if (typed === payload) return text;
  return text === "{}" ? `{"payload":${typed}}` : `${text.slice(0, -1)},"payload":${typed}}`;
}

/**
 * @param {(name: string) => string} value
 * @param {Record<string, any>} before
 */
const groups = (value, before) => ({
  retry: {
    ...before.retry,
    kind: value("kind"),
    initial_ms: Number(value("initial_ms")),
    max_ms: Number(value("max_ms")),
  },
  misfire: { ...before.misfire, policy: value("policy") },
  dst: { gap: value("gap"), fold: value("fold") },
});
