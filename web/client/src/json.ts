// JSON whose large integers keep their digits where the engine can.

interface Reviving {
  parse(text: string, reviver: (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON?: (text: string) => unknown;
}

const ENGINE = JSON as unknown as Reviving;

/** Whether integers beyond 2^53 keep their digits here: engines of before 2025 round them. */
export const isExact = ENGINE.rawJSON !== undefined;

/** What `text` says. An integer beyond 2^53 becomes an object that `JSON.stringify` writes with the same digits
 * (`JSON.rawJSON`), and `String(value.rawJSON)` are these. */
export function parseExact(text: string): unknown {
  const { rawJSON } = ENGINE;
  if (!rawJSON || !/(?:^|[:,[])\s*-?\d{16}/.test(text)) return JSON.parse(text);
  return ENGINE.parse(text, (_key, value, { source }) =>
    typeof value === "number" && source !== undefined && /^-?\d+$/.test(source) && !Number.isSafeInteger(value)
      ? rawJSON(source) : value);
}

/** Has an event share its ids with one before it: parsed, each has strings of its own, which are most of what it takes
 * in memory. */
export function share(event: { session_id: string; turn_id: string }, before?: { readonly session_id: string; readonly turn_id: string }): void {
  if (before?.session_id === event.session_id) event.session_id = before.session_id;
  if (before?.turn_id === event.turn_id) event.turn_id = before.turn_id;
}
