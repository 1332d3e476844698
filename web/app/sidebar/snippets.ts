// Where the words of a search stand in a chat: read from the end of its log, and only for chats that are on the screen.

import { type Event, type GatewayClient, isKnown } from "@chat-gateway/client";

import { marked } from "./highlight";

const EVENTS = 1000; // of the newest ones that are looked through, of each of the two kinds
const END = 1e12; // beyond the last event of any chat: the server takes no larger number
const BEFORE = 30; // characters before the first hit
const LENGTH = 160;

// A piece of what was said around the first hit; null where the words stand further back, or in the title alone.
export async function snippetOf(client: GatewayClient, session: string, query: string, signal: AbortSignal): Promise<string | null> {
  for (const types of ["turn_start", "text"]) { // what the reader wrote is shorter, and says most
    const { events } = await client.events(session, { types, before: END, limit: EVENTS }, { signal });
    const best = textsOf(events).map((text) => around(text, query)).filter((each) => each !== null).sort((one, other) => other.hits - one.hits)[0];
    if (best) return best.text;
  }
  return null;
}

// What was said, the newest first: pieces of one answer are one text.
function textsOf(events: readonly Event[]): string[] {
  const texts = new Map<string, string>();
  for (const event of events) {
    if (!isKnown(event)) continue;
    if (event.type === "turn_start") texts.set(`${event.turn_id}?`, event.data.input);
    else if (event.type === "text") texts.set(event.turn_id, (texts.get(event.turn_id) ?? "") + event.data.text);
  }
  return [...texts.values()].reverse();
}

// The part of `text` around the first word of `query` in it, in one line, and how many different words it has; null: none.
export function around(text: string, query: string): { readonly text: string; readonly hits: number } | null {
  const line = text.replace(/\s+/g, " ").trim();
  const pieces = marked(line, query);
  const first = pieces.findIndex(({ hit }) => hit);
  if (first < 0) return null;
  const at = pieces.slice(0, first).reduce((sum, piece) => sum + piece.text.length, 0);
  const space = line.lastIndexOf(" ", at - BEFORE);
  const from = at <= BEFORE ? 0 : at - space < 2 * BEFORE ? space + 1 : at - BEFORE;
  const shown = Array.from(line.slice(from)).slice(0, LENGTH).join(""); // no half of a pair of surrogates
  const hits = new Set(pieces.filter(({ hit }) => hit).map((piece) => piece.text.toLowerCase())).size;
  return { text: `${from > 0 ? "… " : ""}${shown}${from + shown.length < line.length ? " …" : ""}`, hits };
}
