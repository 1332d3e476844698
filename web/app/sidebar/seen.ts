// What the reader has seen of each chat, in this browser: the number of its last event.

import { writeStored, readStoredJson } from "../browser-storage";

const STORED_AS = "gateway.seen";
const MOST = 500; // chats that are kept; one that was looked at longer ago counts as seen

export interface Seen {
  /** Chats of before that time, Unix milliseconds, count as seen. */
  readonly since: number;
  /** By the chat's id, the last looked at last. */
  readonly heads: Readonly<Record<string, number>>;
}

interface Chat {
  readonly id: string;
  readonly head: number;
  readonly updated_at: number;
}

export function isUnread({ since, heads }: Seen, { id, head, updated_at: at }: Chat): boolean {
  const seen = heads[id];
  return seen === undefined ? at > since && head > 0 : head > seen;
}

// Of a new reader everything counts as seen, until `since` is known: when the server first answered.
export function keptSeen(): Seen {
  const stored = readStoredJson(STORED_AS) as Partial<Seen> | null;
  return typeof stored?.since === "number" && typeof stored.heads === "object" ? { since: stored.since, heads: { ...stored.heads } } : { since: Infinity, heads: {} };
}

export function beginSeen(seen: Seen, now: number): Seen {
  if (seen.since < Infinity) return seen;
  const begun = { ...seen, since: now };
  write(begun);
  return begun;
}

// The same object where nothing is new.
export function keepSeen(seen: Seen, id: string, head: number): Seen {
  if (seen.heads[id] === head) return seen;
  const others = Object.entries(seen.heads).filter(([each]) => each !== id);
  const next = { since: seen.since, heads: Object.fromEntries([...others, [id, head] as const].slice(-MOST)) };
  write(next);
  return next;
}

function write(seen: Seen): void {
  writeStored(STORED_AS, JSON.stringify(seen));
}
