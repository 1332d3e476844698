// What a session looks like: the value that events are reduced to.

import type {
  ApprovalRequest, ApprovalResponse, Artifact, AttachedFile, CallResult, Compression, Done, Feedback, IterationEnd,
  IterationStart, KnownEvent, Memory, Retrieval, Schedule, Skill, ToolCall, ToolProgress, TurnError, TurnStart, TurnWarning, Usage,
} from "./events.js";
import type { PersistentMap } from "./persistent-map.js";

/** An event of a type that this version does not know. */
export interface UnknownEvent {
  readonly v: number;
  readonly seq: number;
  readonly type: string;
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly iteration?: number;
  readonly tool_call_id?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** One event of the log, as a frame of the stream has it. A `switch` on `type` narrows it where `isKnown(event)`. */
export type Event = KnownEvent | UnknownEvent;

/** What every part has: the number of its first event (a key that never changes), its time in Unix milliseconds, and
 * the model call that it came with, if any. */
interface Place {
  readonly seq: number;
  readonly at: number;
  readonly iteration?: number;
}

/** Pieces of the answer that follow each other. `open`: more may come. */
export interface TextPart extends Place {
  readonly kind: "text";
  readonly text: string;
  readonly open: boolean;
}

/** Pieces of thinking that follow each other. `endedAt`: when something else followed. */
export interface ThinkingPart extends Place {
  readonly kind: "thinking";
  readonly text: string;
  readonly open: boolean;
  readonly endedAt?: number;
}

export interface CallPart extends Place {
  readonly kind: "call";
  readonly call: Call;
}

export interface RetrievalPart extends Place {
  readonly kind: "retrieval";
  readonly data: Retrieval;
}

export interface MemoryPart extends Place {
  readonly kind: "memory";
  readonly data: Memory;
}

export interface ArtifactPart extends Place {
  readonly kind: "artifact";
  readonly data: Artifact;
}

export interface SkillPart extends Place {
  readonly kind: "skill";
  readonly data: Skill;
}

export interface SchedulePart extends Place {
  readonly kind: "schedule";
  readonly data: Schedule;
}

export interface WarningPart extends Place {
  readonly kind: "warning";
  readonly data: TurnWarning;
}

/** `data` is that of the newest event: `started`, or how it ended. Whether one that is `started` still runs is in
 * `Conversation.compressing`: one made by hand may end in a later turn, as a part of that. */
export interface CompressionPart extends Place {
  readonly kind: "compression";
  readonly data: Compression;
  readonly endedAt?: number;
}

/** An event of a type that this version does not know, as it came. */
export interface UnknownPart extends Place {
  readonly kind: "unknown";
  readonly event: UnknownEvent;
}

/** What a turn shows, in its order. */
export type Part =
  | TextPart | ThinkingPart | CallPart | RetrievalPart | MemoryPart | ArtifactPart | SkillPart | SchedulePart | WarningPart
  | CompressionPart | UnknownPart;

export type CallState = "running" | "awaiting_approval" | "awaiting_result" | CallResult["status"];

/** A call of a tool, from intent to result. */
export interface Call {
  readonly id: string;
  readonly name: string;
  /** What it runs with: those that a person edited, else those of the model, which are in `made`. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** `data` of `tool_call`. Absent when only what follows from it is known (see `Turn.isWhole`). */
  readonly made?: ToolCall;
  /** `awaiting_approval`: a person has to decide. `awaiting_result`: this client, or another one, has to run it. */
  readonly state: CallState;
  readonly startedAt: number;
  readonly endedAt?: number;
  /** The newest one. */
  readonly progress?: ToolProgress;
  readonly request?: ApprovalRequest;
  /** The decision, and by whom: a person, `policy`, `grant` or `expiry`. */
  readonly response?: ApprovalResponse;
  readonly result?: CallResult;
  /** What happened in it: retrieval, memory, artifact, skill, warning, unknown. */
  readonly parts: readonly Part[];
}

/** One attempt of a model call, with its figures; what it said is in `Turn.parts`. */
export interface Attempt {
  readonly seq: number;
  readonly iteration: number;
  /** From 1; 0 where only its end is known. */
  readonly attempt: number;
  readonly state: "running" | "ended" | "superseded";
  readonly startedAt: number;
  /** When its first piece came, be it thinking or text. */
  readonly firstPieceAt?: number;
  readonly endedAt?: number;
  /** `data` of `iteration_start`; absent where the log is known from a later event on. */
  readonly start?: IterationStart;
  /** `data` of `iteration_end`. */
  readonly end?: IterationEnd;
  /** Why it does not count: an error code. What it had said is withdrawn. */
  readonly reason?: string;
  readonly usage?: Usage;
}

/** How a turn ended: `data` of `done`. */
export type Outcome = Done;

export type TurnState = "running" | "awaiting_approval" | "awaiting_tool_result" | Outcome["status"];

/** One message of a user and everything until its `done`, and what came beside it later. */
export interface Turn {
  readonly id: string;
  /** Of the first event that is known of it. */
  readonly seq: number;
  /** Whether its first event is known; else older events have to be prepended. */
  readonly isWhole: boolean;
  /** What happened beside the turns, such as a compression or a change of a memory by hand: parts alone, no message and
   * no outcome. */
  readonly isOperation: boolean;
  /** `branch`: in the tree of turns. `beside`: an operation, or a message that was taken back while it waited for
   * another turn. `unknown`: only what came after its end is known, such as feedback; it is in no branch yet. */
  readonly place: "branch" | "beside" | "unknown";
  /** The turn that it was asked after, `root` for none; absent where that is not known yet, and of what is beside the turns. */
  readonly parentId?: string;
  /** The user's message; empty where it is not known yet. */
  readonly input: string;
  readonly attachments: readonly AttachedFile[];
  /** `data` of `turn_start`. */
  readonly start?: TurnStart;
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly state: TurnState;
  /** Since when all that is left to do is a person's. */
  readonly waitingSince?: number;
  /** Milliseconds of such waits that are over; they are in `outcome.duration_ms`. */
  readonly waitedMs?: number;
  readonly parts: readonly Part[];
  readonly attempts: readonly Attempt[];
  /** Why it failed. */
  readonly error?: TurnError;
  /** Absent while it runs or waits. */
  readonly outcome?: Outcome;
  /** What a person thinks of it now. */
  readonly feedback?: Feedback;
}

/** A session as far as its events are known: those from `first` to `last`, both 0 when there is none.
 *
 * Values are never changed: `reduce` and `prepend` return new ones, in which everything that did not change is the
 * same object. */
export interface Conversation {
  readonly sessionId?: string;
  /** As a model gave it, if it did. */
  readonly title?: string;
  readonly first: number;
  /** The cursor from which to follow. */
  readonly last: number;
  /** All turns by id, of all branches, and what happened beside them. */
  readonly turns: PersistentMap<Turn>;
  /** All of them in the order in which they began. */
  readonly order: readonly string[];
  /** The turns of the branch that is shown, the oldest first, each with what happened beside it after it; the same
   * array until a turn begins or another branch is shown. */
  readonly path: readonly string[];
  /** The newest turn of the branch that is shown. */
  readonly tip?: string;
  /** The turns that were asked after a turn, or after `root`, in their order. */
  readonly children: PersistentMap<readonly string[]>;
  /** What happened beside the turns, by the turn that ran before it. */
  readonly beside: PersistentMap<readonly string[]>;
  /** The turn that ran last, or runs. */
  readonly newest?: string;
  /** The `seq` of the part of the compression that runs; 0: none does any more. */
  readonly compressing?: number;
  /** The newest that is told of each memory, by its id. */
  readonly memories: PersistentMap<Memory>;
  /** The events of turns of which older ones are missing, the newest first: they are folded anew once these come. */
  readonly partial: PersistentMap<EventChain>;
}

/** Events, the newest first. */
export interface EventChain {
  readonly event: Event;
  readonly before?: EventChain;
}
