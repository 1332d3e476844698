// The events of one turn, folded one by one. A turn depends on no other one.

import type { Attempt, Call, CallPart, CallState, Event, Part, Turn, TurnState } from "./conversation.js";
import type * as events from "./events.js";
import { isKnown } from "./known.js";

const OPERATION = "c_"; // what ids begin with that stand in place of a turn's, beside the turns

/** A turn of which `event` is the first that is known. */
export function begin(event: Event): Turn {
  const isOperation = event.turn_id.startsWith(OPERATION);
  return {
    id: event.turn_id,
    seq: event.seq,
    isWhole: isOperation || event.type === "turn_start",
    isOperation,
    place: isOperation ? "beside" : event.type === "feedback" ? "unknown" : "branch",
    input: "",
    attachments: [],
    startedAt: event.ts,
    state: isOperation ? "completed" : "running",
    parts: [],
    attempts: [],
  };
}

/** The turn after `event`. */
export function fold(turn: Turn, event: Event): Turn {
  if (!isKnown(event)) return add(turn, { kind: "unknown", ...placeOf(event), event });
  switch (event.type) {
    case "turn_start":
      return { ...turn, start: event.data, input: event.data.input, attachments: event.data.attachments ?? [], startedAt: event.ts };
    case "text": case "thinking": return say(turn, event);
    case "iteration_start": return { ...turn, attempts: [...turn.attempts, attemptOf(event)] };
    case "iteration_end": {
      const end = { state: "ended", end: event.data, endedAt: event.ts } as const;
      return endAttempt(closed(turn, event.ts), event, event.data.usage ? { ...end, usage: event.data.usage } : end);
    }
    case "iteration_superseded": return withdraw(turn, event);
    case "tool_call": return called(turn, event);
    case "tool_progress": case "tool_result": case "approval_request": case "approval_response":
      return withState(inCall(turn, event, (call) => advanced(call, event)));
    case "retrieval": case "memory": case "artifact": case "skill": case "warning":
      return noted(turn, event);
    case "compression": return compressed(turn, event);
    case "error": return { ...closed(turn, event.ts), error: event.data };
    case "done": return over(closed(turn, event.ts), event);
    case "feedback":
      return event.data.rating === "none" ? without(turn, "feedback") : { ...turn, feedback: event.data };
    case "title": return turn; // of the conversation
    default: return add(turn, { kind: "unknown", ...placeOf(event), event });
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

const add = (turn: Turn, part: Part): Turn => ({ ...turn, parts: [...turn.parts, part] });

function replaced<T>(list: readonly T[], index: number, value: T): readonly T[] {
  const copy = list.slice();
  copy[index] = value;
  return copy;
}

// What is said

/** The span that grows; what is noted meanwhile stands behind it and does not cut it in two. */
function openSpan(parts: readonly Part[]): number {
  return parts.findLastIndex((part) => (part.kind === "text" || part.kind === "thinking") && part.open);
}

function say(turn: Turn, event: events.TextEvent | events.ThinkingEvent): Turn {
  const index = openSpan(turn.parts);
  const span = turn.parts[index];
  if (span?.kind === event.type && span.iteration === event.iteration) {
    return { ...turn, parts: replaced(turn.parts, index, { ...span, text: span.text + event.data.text }) };
  }
  const begun = firstPiece(closed(turn, event.ts), event.ts);
  return add(begun, { kind: event.type, ...placeOf(event), text: event.data.text, open: true });
}

/** `turn` without a span that grows. */
function closed(turn: Turn, at: number): Turn {
  const index = openSpan(turn.parts);
  const span = turn.parts[index];
  if (span?.kind !== "text" && span?.kind !== "thinking") return turn;
  const ended = span.kind === "thinking" ? { ...span, open: false, endedAt: at } : { ...span, open: false };
  return { ...turn, parts: replaced(turn.parts, index, ended) };
}

// Model calls

function attemptOf(event: events.IterationStartEvent): Attempt {
  return {
    seq: event.seq, iteration: event.iteration ?? 0, attempt: event.data.attempt, state: "running", startedAt: event.ts, start: event.data,
  };
}

function firstPiece(turn: Turn, at: number): Turn {
  const last = turn.attempts.at(-1);
  if (last?.state !== "running" || last.firstPieceAt !== undefined) return turn;
  return { ...turn, attempts: replaced(turn.attempts, turn.attempts.length - 1, { ...last, firstPieceAt: at }) };
}

function endAttempt(turn: Turn, event: Event, end: Partial<Attempt> & Pick<Attempt, "state">): Turn {
  const index = turn.attempts.findLastIndex(({ iteration, state }) => iteration === event.iteration && state === "running");
  const known = turn.attempts[index];
  if (known) return { ...turn, attempts: replaced(turn.attempts, index, { ...known, ...end }) };
  const unknown = { seq: event.seq, iteration: event.iteration ?? 0, attempt: 0, startedAt: event.ts, ...end };
  return { ...turn, attempts: [...turn.attempts, unknown] };
}

function withdraw(turn: Turn, event: events.IterationSupersededEvent): Turn {
  const { attempt, reason, usage } = event.data;
  const end = { state: "superseded", attempt, reason, endedAt: event.ts } as const;
  const isShown = (part: Part): boolean => (part.kind !== "text" && part.kind !== "thinking") || part.iteration !== event.iteration;
  const parts = turn.parts.every(isShown) ? turn.parts : turn.parts.filter(isShown);
  return endAttempt({ ...turn, parts }, event, usage ? { ...end, usage } : end);
}

// Calls

function called(turn: Turn, event: events.ToolCallEvent): Turn {
  const { name, arguments: given } = event.data;
  const call: Call = {
    id: event.tool_call_id ?? "", name, arguments: given, made: event.data, state: "running", startedAt: event.ts, parts: [],
  };
  return withState(add(closed(turn, event.ts), { kind: "call", ...placeOf(event), call: { ...call, state: stateOf(call) } }));
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

const isOf = (id: string | undefined) => (part: Part): part is CallPart => part.kind === "call" && part.call.id === id;

/** `turn` with the call of `event` changed. One that was made before what is known of the turn is made up. */
function inCall(turn: Turn, event: Event, change: (call: Call) => Call): Turn {
  const index = turn.parts.findLastIndex(isOf(event.tool_call_id));
  const part = turn.parts[index] as CallPart | undefined;
  if (part) return { ...turn, parts: replaced(turn.parts, index, { ...part, call: change(part.call) }) };
  const call: Call = { id: event.tool_call_id ?? "", name: "", arguments: {}, state: "running", startedAt: event.ts, parts: [] };
  return add(turn, { kind: "call", ...placeOf(event), call: change(call) });
}

/** A turn waits when all that is left to do is a person's, or a client's. */
function withState(turn: Turn): Turn {
  if (turn.outcome || turn.isOperation) return turn;
  const open = turn.parts.flatMap((part) => part.kind === "call" && !part.call.result ? [part.call.state] : []);
  const waits = open.length > 0 && !open.includes("running");
  const state: TurnState = !waits ? "running" : open.includes("awaiting_approval") ? "awaiting_approval" : "awaiting_tool_result";
  return state === turn.state ? turn : { ...turn, state };
}

// What else happened

type Noted = events.RetrievalEvent | events.MemoryEvent | events.ArtifactEvent | events.SkillEvent | events.TurnWarningEvent;

function noted(turn: Turn, event: Noted): Turn {
  const part = { kind: event.type, ...placeOf(event), data: event.data } as Part;
  const isInCall = event.tool_call_id !== undefined && turn.parts.some(isOf(event.tool_call_id));
  return isInCall ? inCall(turn, event, (call) => ({ ...call, parts: [...call.parts, part] })) : add(turn, part);
}

function compressed(turn: Turn, event: events.CompressionEvent): Turn {
  const index = turn.parts.findLastIndex((part) => part.kind === "compression" && part.data.phase === "started");
  const begun = turn.parts[index];
  if (event.data.phase !== "started" && begun?.kind === "compression") {
    return { ...turn, parts: replaced(turn.parts, index, { ...begun, data: event.data, endedAt: event.ts }) };
  }
  return add(turn, { kind: "compression", ...placeOf(event), data: event.data });
}

function over(turn: Turn, event: events.DoneEvent): Turn {
  const { status, iterations } = event.data;
  // It was cancelled while it waited for another one, in whose midst both of its events may stand.
  const neverRan = turn.start !== undefined && status === "cancelled" && iterations === 0 && event.seq === turn.seq + 1;
  const ended: Turn = { ...turn, outcome: event.data, state: status, endedAt: event.ts };
  return neverRan ? { ...without(ended, "parentId"), place: "beside" } : ended;
}

