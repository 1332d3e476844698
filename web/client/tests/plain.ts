// What tests compare.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { emptyConversation, parseExact, PersistentMap, reduceAll } from "../src/index.js";
import type { Conversation, Event, Turn } from "../src/index.js";

/** A conversation as plain data, in which equal ones are equal. */
export function plain(conversation: Conversation): object {
  const entries = Object.entries(conversation).map(([name, value]: [string, unknown]): [string, unknown] =>
    [name, value instanceof PersistentMap ? Object.fromEntries([...value].sort(([a], [b]) => a < b ? -1 : 1)) : value]);
  return Object.fromEntries(entries);
}

export const from = (events: readonly Event[]): Conversation => reduceAll(emptyConversation(), events);

export function turn(conversation: Conversation, id: string | undefined): Turn {
  const found = conversation.turns.get(id ?? "");
  if (!found) throw new Error(`No turn ${id}`);
  return found;
}

/** The turns of the branch that is shown. */
export const shown = (conversation: Conversation): Turn[] => conversation.path.map((id) => turn(conversation, id));

const RECORDED = join(import.meta.dirname, "../../../tests/recorded");

/** Sessions that a gateway streamed, by name. */
export const recordings = readdirSync(RECORDED).filter((file) => file.endsWith(".jsonl")).map((file) => file.slice(0, -6)).sort();

export const lines = (name: string): string[] => readFileSync(join(RECORDED, `${name}.jsonl`), "utf-8").trimEnd().split("\n");

export const recorded = (name: string): Event[] => lines(name).map((line) => parseExact(line) as Event);
