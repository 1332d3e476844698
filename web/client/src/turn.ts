// The events of one turn, folded one by one. A turn depends on no other one.

import type { Attempt, Call, CallPart, CallState, Event, Part, Turn, TurnState } from "./conversation.js";
import type * as events from "./events.js";
import { isKnown } from "./known.js";
import type { Lists } from "./lists.js";

const OPERATION = "c_";

/** Whether an id stands in the place of a turn's, for what happened beside the turns. */
export const isOperation = (id: string): boolean => id.startsWith(OPERATION);

/** A turn of which `event` is the first that is known. */
export function begin(event: Event): Turn {
  const isBeside = isOperation(event.turn_id);
  return {
    id: event.turn_id,
    seq: event.seq,
    isWhole: isBeside || event.type === "turn_start",
    isOperation: isBeside,
    place: isBeside ? "beside" : event.type === "feedback" ? "unknown" : "branch",
    input: "",
    attachments: [],
    startedAt: event.ts,
    state: isBeside ? "completed" : "running",
    parts: [],
    attempts: [],
  };
}

/** The turn after `event`. Lists that `lists` has made are changed in their places. */
export function fold(turn: Turn, event: Event, lists: Lists): Turn {
  if (!isKnown(event)) return add(turn, { kind: "unknown", ...placeOf(event), event }, lists);
  switch (event.type) {
    case "turn_start":
      return { ...turn, start: event.data, input: event.data.input, attachments: event.data.attachments ?? [], startedAt: event.ts };
    case "text": case "thinking": return say(turn, event, lists);
    case "iteration_start": return { ...turn, attempts: lists.with(turn.attempts, attemptOf(event)) };
    case "iteration_end": {
      const end = { state: "ended", end: event.data, endedAt: event.ts } as const;
      return endAttempt(closed(turn, event.ts, lists), event, event.data.usage ? { ...end, usage: event.data.usage } : end, lists);
    }
    case "iteration_superseded": return withdraw(turn, event, lists);
    case "tool_call": return called(turn, event, lists);
    case "tool_progress": case "tool_result": case "approval_request": case "approval_response":
      return withState(inCall(turn, event, (call) => advanced(call, event), lists), event.ts, lists);
    case "retrieval": case "memory": case "artifact": case "skill": case "schedule": case "warning":
      return noted(turn, event, lists);
    case "compression": return compressed(turn, event, lists);
    case "error": return { ...closed(turn, event.ts, lists), error: event.data };
    case "done": return over(closed(turn, event.ts, lists), event);
    case "feedback":
      return event.data.rating === "none" ? without(turn, "feedback") : { ...turn, feedback: event.data };
    case "title": return turn; // of the conversation
    default: return add(turn, { kind: "unknown", ...placeOf(event), event }, lists);
  }
}

function placeOf(event: Event): { seq: number; at: number; iteration?: number } {
  const place = { seq: event.seq, at: event.ts };
  return event.iteration === undefined ? place : { ...place, iteration: event.iteration };
}

/** `turn` with a field absent. */
function without(turn: Turn, name: "feedback" | "parentId"): Turn {
  const copy: { -readonly [Key in keyof Turn]: Turn[Key] } = { ...turn };
  Reflect.deleteProperty(copy, name);
  return copy;
}

const add = (turn: Turn, part: Part, lists: Lists): Turn => ({ ...turn, parts: lists.withPart(turn.parts, part) });
const replace = (turn: Turn, place: number, part: Part, lists: Lists): Turn => ({ ...turn, parts: lists.withPart(turn.parts, part, place) });

// What is said

// The span that grows goes on; what is noted meanwhile stands behind it and does not cut it in two.
function say(turn: Turn, event: events.TextEvent | events.ThinkingEvent, lists: Lists): Turn {
  const place = lists.placesOf(turn.parts).open;
  const span = turn.parts[place];
  if (span?.kind === event.type && span.iteration === event.iteration) {
    return replace(turn, place, { ...span, text: span.text + event.data.text }, lists);
  }
  const begun = firstPiece(closed(turn, event.ts, lists), event.ts, lists);
  return add(begun, { kind: event.type, ...placeOf(event), text: event.data.text, open: true }, lists);
}

/** `turn` without a span that grows. */
function closed(turn: Turn, at: number, lists: Lists): Turn {
  const place = lists.placesOf(turn.parts).open;
  const span = turn.parts[place];
  if (span?.kind !== "text" && span?.kind !== "thinking") return turn;
  return replace(turn, place, span.kind === "thinking" ? { ...span, open: false, endedAt: at } : { ...span, open: false }, lists);
}

// Model calls

function attemptOf(event: events.IterationStartEvent): Attempt {
  return {
    seq: event.seq, iteration: event.iteration ?? 0, attempt: event.data.attempt, state: "running", startedAt: event.ts, start: event.data,
  };
}

function firstPiece(turn: Turn, at: number, lists: Lists): Turn {
  const last = turn.attempts.at(-1);
  if (last?.state !== "running" || last.firstPieceAt !== undefined) return turn;
  return { ...turn, attempts: lists.with(turn.attempts, { ...last, firstPieceAt: at }, turn.attempts.length - 1) };
}

function endAttempt(turn: Turn, event: Event, end: Partial<Attempt> & Pick<Attempt, "state">, lists: Lists): Turn {
  const index = turn.attempts.findLastIndex(({ iteration, state }) => iteration === event.iteration && state === "running");
  const known = turn.attempts[index];
  if (known) return { ...turn, attempts: lists.with(turn.attempts, { ...known, ...end }, index) };
  const unknown = { seq: event.seq, iteration: event.iteration ?? 0, attempt: 0, startedAt: event.ts, ...end };
  return { ...turn, attempts: lists.with(turn.attempts, unknown) };
}

function withdraw(turn: Turn, event: events.IterationSupersededEvent, lists: Lists): Turn {
  const { attempt, reason, usage } = event.data;
  const end = { state: "superseded", attempt, reason, endedAt: event.ts } as const;
  const isShown = (part: Part): boolean => (part.kind !== "text" && part.kind !== "thinking") || part.iteration !== event.iteration;
  const parts = turn.parts.every(isShown) ? turn.parts : turn.parts.filter(isShown);
  return endAttempt({ ...turn, parts }, event, usage ? { ...end, usage } : end, lists);
}

// Calls

function called(turn: Turn, event: events.ToolCallEvent, lists: Lists): Turn {
  const { name, arguments: given } = event.data;
  const call: Call = {
    id: event.tool_call_id ?? "", name, arguments: given, made: event.data, state: "running", startedAt: event.ts, parts: [],
  };
  return withState(add(closed(turn, event.ts, lists), { kind: "call", ...placeOf(event), call: { ...call, state: stateOf(call) } }, lists), event.ts, lists);
}

type OfCall = events.ToolProgressEvent | events.CallResultEvent | events.ApprovalRequestEvent | events.ApprovalResponseEvent;

function advanced(call: Call, event: OfCall): Call {
  const next = { ...call };
  switch (event.type) {
    case "tool_progress": return { ...call, progress: event.data };
    case "tool_result":
      Object.assign(next, { name: event.data.name, result: event.data, endedAt: event.ts });
      break;
    case "approval_request":
      Object.assign(next, { name: event.data.name, request: event.data });
      if (!call.made) Object.assign(next, { arguments: event.data.arguments });
      delete (next as { response?: unknown }).response;
      break;
    case "approval_response":
      Object.assign(next, { response: event.data, arguments: event.data.arguments ?? call.arguments });
  }
  return { ...next, state: stateOf(next) };
}

function stateOf(call: Call): CallState {
  if (call.result) return call.result.status;
  if (call.request && !call.response) return "awaiting_approval";
  return call.made?.runs_on === "client" ? "awaiting_result" : "running";
}

/** `turn` with the call of `event` changed. One that was made before what is known of the turn is made up. */
function inCall(turn: Turn, event: Event, change: (call: Call) => Call, lists: Lists): Turn {
  const place = lists.placesOf(turn.parts).calls.get(event.tool_call_id ?? "") ?? -1;
  const part = turn.parts[place] as CallPart | undefined;
  if (part) return replace(turn, place, { ...part, call: change(part.call) }, lists);
  const call: Call = { id: event.tool_call_id ?? "", name: "", arguments: {}, state: "running", startedAt: event.ts, parts: [] };
  return add(turn, { kind: "call", ...placeOf(event), call: change(call) }, lists);
}

/** A turn waits when all that is left to do is a person's, or a client's. */
function withState(turn: Turn, at: number, lists: Lists): Turn {
  if (turn.outcome || turn.isOperation) return turn;
  const places = lists.placesOf(turn.parts);
  const waits = places.waitingIn("awaiting_approval", "awaiting_result") > 0 && places.waitingIn("running") === 0;
  const state: TurnState = !waits ? "running" : places.waitingIn("awaiting_approval") > 0 ? "awaiting_approval" : "awaiting_tool_result";
  if (state === turn.state) return turn;
  return { ...withoutWait(turn, at), state, ...(state === "awaiting_approval" ? { waitingSince: at } : {}) };
}

/** `turn` in which nobody is waited for any more. */
function withoutWait(turn: Turn, at: number): Turn {
  const { waitingSince, ...others } = turn;
  return waitingSince === undefined ? turn : { ...others, waitedMs: (turn.waitedMs ?? 0) + Math.max(0, at - waitingSince) };
}

// What else happened

type Noted = events.RetrievalEvent | events.MemoryEvent | events.ArtifactEvent | events.SkillEvent | events.ScheduleEvent | events.TurnWarningEvent;

function noted(turn: Turn, event: Noted, lists: Lists): Turn {
  const part = { kind: event.type, ...placeOf(event), data: event.data } as Part;
  const isInCall = event.tool_call_id !== undefined && lists.placesOf(turn.parts).calls.has(event.tool_call_id);
  return isInCall ? inCall(turn, event, (call) => ({ ...call, parts: lists.with(call.parts, part) }), lists) : add(turn, part, lists);
}

function compressed(turn: Turn, event: events.CompressionEvent, lists: Lists): Turn {
  const index = turn.parts.findLastIndex((part) => part.kind === "compression" && part.data.phase === "started");
  const begun = turn.parts[index];
  if (event.data.phase !== "started" && begun?.kind === "compression") {
    return replace(turn, index, { ...begun, data: event.data, endedAt: event.ts }, lists);
  }
  return add(turn, { kind: "compression", ...placeOf(event), data: event.data }, lists);
}

function over(turn: Turn, event: events.DoneEvent): Turn {
  const { status, iterations } = event.data;
  // It was cancelled while it waited for another one, in whose midst both of its events may stand.
  const neverRan = turn.start !== undefined && status === "cancelled" && iterations === 0 && event.seq === turn.seq + 1;
  const ended: Turn = { ...withoutWait(turn, event.ts), outcome: event.data, state: status, endedAt: event.ts };
  return neverRan ? { ...without(ended, "parentId"), place: "beside" } : ended;
}

