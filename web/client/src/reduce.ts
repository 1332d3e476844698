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
  beside: PersistentMap.empty(), memories: PersistentMap.empty(), partial: PersistentMap.empty(),
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
  if (isKnown(event) && event.type === "title") next.title = event.data.title;
  const turn = enter(next, event, lists);
  if (event.type === "compression") next.compressing = compressingAfter(turn, event);
  return next;
}

/** Folds `event` into its turn, which is placed where it begins. */
function enter(next: Draft, event: Event, lists: Lists): Turn {
  const before = next.turns.get(event.turn_id);
  const turn = fold(before ?? begin(event), event, lists);
  if (!turn.isWhole || turn.isOperation) remember(next, event);
  if (isKnown(event) && event.type === "memory") next.memories = next.memories.with(event.data.memory_id, event.data);
  if (!before) return extend(next, turn, lists);
  next.turns = next.turns.with(turn.id, turn);
  if (turn.place !== before.place) setBeside(next, before, lists);
  return turn;
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
  const next: Draft = { ...before };
  const lists = new Lists();
  // Turns that both have a part of go on from where they began.
  const continued = new Set(next.order.filter((id) => conversation.partial.has(id)));
  for (const id of continued) enterAll(next, conversation.partial.get(id), lists);
  return joined(next, conversation, continued, lists);
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

function enterAll(next: Draft, chain: EventChain | undefined, lists: Lists): void {
  const events: Event[] = [];
  for (let link = chain; link; link = link.before) events.push(link.event);
  for (const event of events.reverse()) enter(next, event, lists);
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
function extend(next: Draft, given: Turn, lists: Lists): Turn {
  const turn = place(next, given);
  next.turns = next.turns.with(turn.id, turn);
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
  return turn;
}

/** The newest turn, which was in a branch, never ran: it is beside the one before it. */
function setBeside(next: Draft, turn: Turn, lists: Lists): void {
  const newest = next.order.findLast((id) => next.turns.get(id)?.place === "branch");
  const isShown = next.tip === turn.id;
  setNewest(next, newest, isShown ? newest : next.tip);
  next.children = dropped(next.children, turn.parentId ?? UNKNOWN, turn.id);
  next.beside = appended(next.beside, newest ?? UNKNOWN, turn.id, lists);
  if (!isShown || newest === undefined || turn.parentId !== newest) next.path = pathTo(next, next.tip);
}

function setNewest(next: Draft, newest: string | undefined, tip: string | undefined): void {
  delete next.newest;
  delete next.tip;
  if (newest !== undefined) next.newest = newest;
  if (tip !== undefined) next.tip = tip;
}

/** `known` behind `next`, which has the turns that began earlier, among them those that were `continued`. Only the first
 * turns of `known` may stand elsewhere than they did, until one follows another that it followed before. */
function joined(next: Draft, known: Conversation, continued: ReadonlySet<string>, lists: Lists): Conversation {
  let { children, beside } = known;
  let lastContinued = -1;
  if (continued.size > 0) lastContinued = known.order.findLastIndex((id) => continued.has(id) && known.turns.get(id)?.place !== "unknown");
  const moved = new Set<string>();
  let newest: string | undefined; // as it was known
  let count = 0;
  while (count < known.order.length && (count <= lastContinued || newest === undefined || newest !== next.newest)) {
    const id = known.order[count++] ?? UNKNOWN;
    const turn = known.turns.get(id);
    if (!turn) continue;
    moved.add(id);
    if (turn.place === "beside") beside = dropped(beside, newest ?? UNKNOWN, id);
    if (turn.place === "branch") {
      children = dropped(children, turn.parentId ?? UNKNOWN, id);
      newest = id;
    }
    if (continued.has(id)) continue;
    if (known.partial.has(id)) enterAll(next, known.partial.get(id), lists);
    else extend(next, turn, lists);
  }
  const end = count < known.order.length ? known.newest : next.newest;
  const joint: Draft = { ...known, first: next.first, children, beside };
  const rest = known.order.slice(count);
  joint.order = next.order.concat(continued.size > 0 ? rest.filter((id) => !continued.has(id)) : rest);
  for (const [id, turn] of next.turns) joint.turns = joint.turns.with(id, turn);
  for (const [id, ids] of next.children) joint.children = joint.children.with(id, ids.concat(children.get(id) ?? []));
  for (const [id, ids] of next.beside) joint.beside = joint.beside.with(id, ids.concat(beside.get(id) ?? []));
  for (const [id, memory] of next.memories) if (!known.memories.has(id)) joint.memories = joint.memories.with(id, memory);
  for (const id of continued) joint.partial = joint.partial.without(id);
  for (const [id, chain] of next.partial) joint.partial = joint.partial.with(id, chain);
  if (joint.title === undefined && next.title !== undefined) joint.title = next.title;
  if (joint.compressing === undefined && next.compressing !== undefined) joint.compressing = next.compressing;
  setNewest(joint, end, known.tip === known.newest ? end : known.tip);
  joint.path = pathBehind(joint, known, moved);
  return joint;
}

/** The path of `joint`. From the first turn on that was not `moved` it is that of `known`. */
function pathBehind(joint: Conversation, known: Conversation, moved: ReadonlySet<string>): readonly string[] {
  const stayed = (id: string): boolean => !moved.has(id) && known.turns.get(id)?.place === "branch";
  const at = joint.tip === known.tip ? known.path.findIndex(stayed) : -1;
  if (at < 0) return pathTo(joint, joint.tip);
  return pathTo(joint, known.turns.get(known.path[at] ?? UNKNOWN)?.parentId).concat(known.path.slice(at));
}

const appended = (map: PersistentMap<readonly string[]>, key: string, id: string, lists: Lists) => map.with(key, lists.with(map.get(key) ?? [], id));

function dropped(map: PersistentMap<readonly string[]>, key: string, id: string): PersistentMap<readonly string[]> {
  const left = map.get(key)?.filter((each) => each !== id) ?? [];
  return left.length > 0 ? map.with(key, left) : map.without(key);
}

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
