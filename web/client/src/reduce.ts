// Events to a conversation.

import type { KnownEvent } from "./events.js";
import { EVENT_TYPES } from "./events.js";
import type { Call, Conversation, Event, Turn } from "./conversation.js";
import { PersistentMap } from "./persistent-map.js";

const NONE: Conversation = {
  first: 0, last: 0, turns: PersistentMap.empty(), order: [], path: [], children: PersistentMap.empty(),
};
const KNOWN: ReadonlySet<string> = new Set(EVENT_TYPES);

export function isKnown(event: Event): event is KnownEvent {
  return KNOWN.has(event.type);
}

export function emptyConversation(): Conversation {
  return NONE;
}

/** The conversation after `event`. One that it has already changes nothing: the same value is returned. */
export function reduce(conversation: Conversation, _event: Event): Conversation {
  return conversation;
}

/** As `reduce` for each of them. */
export function reduceAll(conversation: Conversation, events: Iterable<Event>): Conversation {
  for (const event of events) conversation = reduce(conversation, event);
  return conversation;
}

/** The conversation with the events, in their order, that come right before its first one. */
export function prepend(conversation: Conversation, _older: readonly Event[]): Conversation {
  return conversation;
}

/** The conversation with the branch of `turnId` shown: its newest turn after that one. A turn that begins is shown
 * by itself. */
export function show(conversation: Conversation, _turnId: string): Conversation {
  return conversation;
}

/** The turns that were asked in the place of `turn`, itself among them. */
export function versions(conversation: Conversation, turn: Turn): readonly string[] {
  return conversation.children.get(turn.parentId ?? "") ?? [turn.id];
}

/** The calls of a turn, in their order. */
export function calls(turn: Turn): Call[] {
  return turn.parts.flatMap((part) => part.kind === "call" ? [part.call] : []);
}

/** The answer of a turn as text: what it said in all of its model calls. */
export function answer(turn: Turn): string {
  return turn.parts.flatMap((part) => part.kind === "text" ? [part.text] : []).join("\n\n");
}
