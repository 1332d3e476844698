// Events to a conversation. Each turn is folded by itself (turn.ts); here is how the turns stand to each other.

import type { Call, Conversation, Event, EventChain, Turn } from "./conversation.js";
import { isKnown } from "./known.js";
import { Lists } from "./lists.js";
import { PersistentMap } from "./persistent-map.js";
import { begin, fold } from "./turn.js";

const ROOT = "root";
const UNKNOWN = ""; // the key of those whose parent is not known yet

type Draft = { -readonly [Key in keyof Conversation]: Conversation[Key] };

const EMPTY: Conversation = {
  first: 0, last: 0, turns: PersistentMap.empty(), order: [], path: [], children: PersistentMap.empty(),
  beside: PersistentMap.empty(), partial: PersistentMap.empty(),
};

export function emptyConversation(): Conversation {
  return EMPTY;
}

/** The conversation after `event`. One that it has already, or an older one, changes nothing: the same value is
 * returned. */
export function reduce(conversation: Conversation, event: Event): Conversation {
  return reduced(conversation, event, new Lists());
}

function reduced(conversation: Conversation, event: Event, lists: Lists): Conversation {
  if (event.seq <= conversation.last) return conversation;
  const next: Draft = { ...conversation, sessionId: event.session_id, last: event.seq };
  if (!next.first) next.first = event.seq;
  const before = next.turns.get(event.turn_id);
  let turn = fold(before ?? begin(event), event, lists);
  if (!turn.isWhole || turn.isOperation) remember(next, event);
  if (isKnown(event) && event.type === "title") next.title = event.data.title;
  if (event.type === "compression") next.compressing = compressingAfter(turn, event);
  if (!before) turn = place(next, turn);
  next.turns = next.turns.with(turn.id, turn);
  if (before && turn.place !== before.place) return arranged(next, next.tip === turn.id ? undefined : next.tip);
  if (!before) extend(next, turn, lists);
  return next;
}

/** As `reduce` for each of them; what it costs for each does not grow with how many there are. */
export function reduceAll(conversation: Conversation, events: Iterable<Event>): Conversation {
  const lists = new Lists();
  for (const event of events) conversation = reduced(conversation, event, lists);
  return conversation;
}

/** The conversation with the events, in their order, that come right before its first one. Older ones than these may
 * follow with the next call. */
export function prepend(conversation: Conversation, older: readonly Event[]): Conversation {
  const events = conversation.first ? older.filter(({ seq }) => seq < conversation.first) : older;
  const before = reduceAll(EMPTY, events);
  if (!before.last || !conversation.last) return before.last ? before : conversation;
  const next: Draft = { ...conversation, first: before.first, partial: before.partial };
  const known = new Set(before.order);
  next.order = [...before.order, ...conversation.order.filter((id) => !known.has(id))];
  next.compressing = conversation.compressing ?? before.compressing;
  if (next.compressing === undefined) delete next.compressing;
  if (next.title === undefined && before.title !== undefined) next.title = before.title;
  for (const [id, turn] of before.turns) next.turns = next.turns.with(id, turn);
  for (const [id, chain] of conversation.partial) {
    const lists = new Lists();
    let turn = before.turns.get(id);
    for (const event of inOrder(chain)) {
      turn = fold(turn ?? begin(event), event, lists);
      if (!turn.isWhole || turn.isOperation) remember(next, event);
    }
    if (turn) next.turns = next.turns.with(id, turn);
  }
  return arranged(next, conversation.tip === conversation.newest ? undefined : conversation.tip);
}

/** The conversation with the branch of `turnId` shown, up to its newest turn. A turn that begins is shown by itself. */
export function show(conversation: Conversation, turnId: string): Conversation {
  let tip = turnId;
  for (let next = conversation.children.get(tip)?.at(-1); next; next = conversation.children.get(tip)?.at(-1)) tip = next;
  return tip === conversation.tip || !conversation.turns.has(tip) ? conversation : { ...conversation, tip, path: pathTo(conversation, tip) };
}

/** The turn that runs or waits, if any. */
export function openTurn(conversation: Conversation): Turn | undefined {
  const turn = conversation.turns.get(conversation.newest ?? "");
  return turn?.outcome ? undefined : turn;
}

/** The turns that were asked in the place of `turn`, itself among them, in their order. */
export function versions(conversation: Conversation, turn: Turn): readonly string[] {
  return turn.place === "branch" ? conversation.children.get(turn.parentId ?? UNKNOWN) ?? [turn.id] : [turn.id];
}

/** The calls of a turn, in their order. */
export function calls(turn: Turn): Call[] {
  return turn.parts.flatMap((part) => part.kind === "call" ? [part.call] : []);
}

/** The answer of a turn as text: what it said in all of its model calls. */
export function answer(turn: Turn): string {
  return turn.parts.flatMap((part) => part.kind === "text" ? [part.text] : []).join("\n\n");
}

function remember(next: Draft, event: Event): void {
  const before = next.partial.get(event.turn_id);
  next.partial = next.partial.with(event.turn_id, before ? { event, before } : { event });
}

function inOrder(chain: EventChain): Event[] {
  const events: Event[] = [];
  for (let link: EventChain | undefined = chain; link; link = link.before) events.push(link.event);
  return events.reverse();
}

function compressingAfter(turn: Turn, event: Event): number {
  const part = turn.parts.findLast(({ kind }) => kind === "compression");
  return part?.kind === "compression" && part.data.phase === "started" && part.seq === event.seq ? event.seq : 0;
}

/** A new turn in its place: with its parent, where it has one. */
function place(next: Draft, turn: Turn): Turn {
  // Of the turns whose beginning is missing only the one that was running then is in a branch.
  const isLate = !turn.isWhole && next.newest !== undefined;
  const placed: Turn = isLate && turn.place === "branch" ? { ...turn, place: "unknown" } : turn;
  if (turn.place !== "branch" || !turn.start) return placed;
  const parentId = turn.start.parent_turn_id ?? next.newest ?? (next.first === 1 ? ROOT : undefined);
  return parentId === placed.parentId ? placed : { ...placed, ...(parentId !== undefined && { parentId }) };
}

/** Enters a new turn into order, tree and path. */
function extend(next: Draft, turn: Turn, lists: Lists): void {
  next.order = lists.with(next.order, turn.id);
  if (turn.place === "beside") {
    next.beside = appended(next.beside, next.newest ?? UNKNOWN, turn.id, lists);
    next.path = next.newest === next.tip ? lists.with(next.path, turn.id) : pathTo(next, next.tip);
  } else if (turn.place === "branch") {
    next.children = appended(next.children, turn.parentId ?? UNKNOWN, turn.id, lists);
    const follows = turn.parentId === next.tip && next.newest === next.tip;
    next.tip = next.newest = turn.id;
    next.path = follows ? lists.with(next.path, turn.id) : pathTo(next, turn.id);
  }
}

/** Order stays; places, tree and path are made anew. `tip` is kept where it is given. */
function arranged(given: Draft, tip?: string): Conversation {
  const next: Draft = { ...given };
  delete next.tip;
  delete next.newest;
  const children = new Map<string, string[]>();
  const beside = new Map<string, string[]>();
  for (const id of given.order) {
    const turn = given.turns.get(id);
    if (!turn) continue;
    const placed = place(next, turn);
    if (placed !== turn) next.turns = next.turns.with(id, placed);
    if (placed.place === "beside") entered(beside, next.newest ?? UNKNOWN, id);
    if (placed.place !== "branch") continue;
    entered(children, placed.parentId ?? UNKNOWN, id);
    next.tip = next.newest = id;
  }
  next.children = PersistentMap.of(children);
  next.beside = PersistentMap.of(beside);
  if (tip !== undefined) next.tip = tip;
  next.path = pathTo(next, next.tip);
  return next;
}

function entered(lists: Map<string, string[]>, key: string, id: string): void {
  const known = lists.get(key);
  if (known) known.push(id);
  else lists.set(key, [id]);
}

const appended = (map: PersistentMap<readonly string[]>, key: string, id: string, lists: Lists) => map.with(key, lists.with(map.get(key) ?? [], id));

function pathTo(conversation: Conversation, tip: string | undefined): readonly string[] {
  const newestFirst: string[] = [];
  const passBeside = (id: string): void => {
    if (conversation.beside.size > 0) newestFirst.push(...(conversation.beside.get(id) ?? []).toReversed());
  };
  const at = (id: string | undefined): Turn | undefined => conversation.turns.get(id ?? UNKNOWN);
  for (let turn = at(tip); turn?.place === "branch"; turn = at(turn.parentId)) {
    passBeside(turn.id);
    newestFirst.push(turn.id);
  }
  passBeside(UNKNOWN);
  return newestFirst.reverse();
}
