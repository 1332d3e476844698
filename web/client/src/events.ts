// Generated from gateway/events/ by generate.py: edit there.

/** A call waits for a person's decision. */
export interface ApprovalRequest {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly reason?: string;
  /** When it counts as denied, Unix milliseconds. */
  readonly expires_at?: number;
}

/** It was decided whether a call may run: by a person, now or before, or by a rule. */
export interface ApprovalResponse {
  readonly decision: "approved" | "denied";
  /** A user id; the `handle` of a member of the project, whose session it is not; or `policy`, `grant` or `expiry`, which come without a person. */
  readonly by: string;
  /** For how long an approval holds. */
  readonly scope?: "once" | "session" | "always";
  /** The reason of a denial, which the model reads. */
  readonly reason?: string;
  /** The arguments the call runs with, when they were edited. */
  readonly arguments?: Readonly<Record<string, unknown>>;
}

/** A large result, or one that is not text, was offloaded; the call's result has its compact form. */
export interface Artifact {
  /** Its reference: `ART-…`. `/api/artifacts/{ref}` has the content. */
  readonly ref: string;
  readonly mime: string;
  /** Bytes. */
  readonly size: number;
  /** What is in it, by its type, in few words. */
  readonly summary: string;
  /** text, json, csv, markdown, code, log, image, pdf or binary. */
  readonly kind?: string;
  /** A name for a file with it. */
  readonly name?: string;
  /** Lines; absent where it is no text. */
  readonly lines?: number;
}

/** A file that came with a message: the artifact that holds it, its name, type and bytes. */
export interface AttachedFile {
  readonly ref: string;
  readonly name: string;
  readonly mime: string;
  readonly size: number;
  /** What the model gets of it; absent in older turns. What this very model does not look at, and what there is no room for, the warning `attachment_not_shown` tells. */
  readonly reading?: FileReading;
}

/** What the model reads as the call's result. Exactly one per tool_call, with the same tool_call_id. */
export interface CallResult {
  readonly name: string;
  readonly status: "ok" | "error" | "denied" | "cancelled" | "timeout" | "unknown_outcome";
  readonly content: string;
  readonly duration_ms: number;
  /** Reference of the full content, if offloaded. */
  readonly artifact?: string;
  readonly memory_writes?: readonly MemoryWriteSuggestion[];
  readonly steps?: readonly StepTrace[];
}

/** The history is being compressed: archived, with a summary in its place. */
export interface Compression {
  readonly phase: "started" | "completed" | "failed";
  readonly trigger?: "manual" | "automatic" | "overflow";
  readonly version?: number;
  readonly covers?: Covered;
  /** Of the whole view, estimated. */
  readonly tokens_before?: number;
  readonly tokens_after?: number;
  /** The model that was asked for the summary; absent when it has only started. */
  readonly model?: string;
  /** Of the summary; not part of the turn's usage. */
  readonly usage?: Usage;
  /** US dollars. Absent means unknown. */
  readonly cost?: number;
  readonly duration_ms?: number;
  /** Why it failed, or why no model wrote the summary: a code and a sentence. */
  readonly reason?: string;
  /** true: no model could write the summary, so it was made of the facts that are known, and of first and last lines. */
  readonly without_model?: boolean;
}

/** The messages that were archived, by their position in the session. */
export interface Covered {
  readonly first: number;
  readonly last: number;
}

/** The turn is over. Exactly one per turn, and its last event but for `feedback`. */
export interface Done {
  readonly status: "completed" | "failed" | "cancelled" | "limit_reached" | "interrupted";
  readonly stop_reason?: string;
  /** Sum over all model calls that reported it, also superseded ones. */
  readonly usage?: Usage;
  /** Model calls that began to answer and never reported their usage. */
  readonly usage_unreported?: number;
  /** US dollars. Absent means unknown, never free. */
  readonly cost?: number;
  readonly iterations: number;
  readonly duration_ms: number;
  /** From the turn's start to the first text of its answer. */
  readonly ttft_ms?: number;
}

export interface ApprovalRequestEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "approval_request";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: ApprovalRequest;
}

export interface ApprovalResponseEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "approval_response";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: ApprovalResponse;
}

export interface ArtifactEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "artifact";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: Artifact;
}

export interface CompressionEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "compression";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: Compression;
}

export interface DoneEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "done";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: Done;
}

export interface TurnErrorEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "error";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: TurnError;
}

export interface FeedbackEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "feedback";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: Feedback;
}

export interface IterationEndEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "iteration_end";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: IterationEnd;
}

export interface IterationStartEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "iteration_start";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: IterationStart;
}

export interface IterationSupersededEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "iteration_superseded";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: IterationSuperseded;
}

export interface MemoryEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "memory";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: Memory;
}

export interface RetrievalEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "retrieval";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: Retrieval;
}

export interface ScheduleEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "schedule";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: Schedule;
}

export interface SkillEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "skill";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: Skill;
}

export interface TextEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "text";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: Text;
}

export interface ThinkingEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "thinking";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: Thinking;
}

export interface TitleEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "title";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: Title;
}

export interface ToolCallEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "tool_call";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: ToolCall;
}

export interface ToolProgressEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "tool_progress";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: ToolProgress;
}

export interface CallResultEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "tool_result";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: CallResult;
}

export interface TurnStartEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "turn_start";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: TurnStart;
}

export interface TurnWarningEvent {
  /** Version of the contract; additive changes keep it. */
  readonly v: 1;
  /** Position in the session: from 1, without gaps, never reused. The one cursor. */
  readonly seq: number;
  readonly type: "warning";
  /** Unix time in milliseconds. */
  readonly ts: number;
  readonly session_id: string;
  readonly turn_id: string;
  /** Number of the model call in the turn. */
  readonly iteration?: number;
  /** The model's id of the tool call. */
  readonly tool_call_id?: string;
  readonly data: TurnWarning;
}

/** What a person thinks of a turn that is over: it has the turn's id, and comes some time after its `done`. The last one holds. */
export interface Feedback {
  /** none: taken back. */
  readonly rating: "up" | "down" | "none";
  /** Why, in the person's words. */
  readonly reason?: string;
  /** What it is about: all that was done, or the answer alone. */
  readonly of: "turn" | "message";
}

/** What the model gets of a file, for people: all of its text, a part of it (and it may read on), the picture, the pages, or none of its content and why. */
export interface FileReading {
  readonly how: "text" | "part" | "image" | "pages" | "none";
  /** Of a text. */
  readonly lines?: number;
  /** Bytes of a text that are no UTF-8: the model reads marks there. */
  readonly damaged?: number;
  /** The picture is larger than the model looks at it. */
  readonly scaled?: true;
  /** Of a PDF, where they can be counted. */
  readonly pages?: number;
  /** Of what the model gets nothing of but a description. */
  readonly why?: "empty" | "format" | "encoding" | "encrypted" | "too_large" | "too_many_pixels" | "too_many_pages" | "damaged";
}

/** A model call is over and its message is stored. Without `stop_reason` the answer was cut short (by a cancel, a failure or a restart) and what had been streamed is kept. */
export interface IterationEnd {
  /** As the endpoint gave it; `unknown` if it gave none. */
  readonly stop_reason?: string;
  /** The text at which the model stopped, where the endpoint told it. */
  readonly stop_sequence?: string;
  /** Absent when the endpoint did not report it. */
  readonly usage?: Usage;
  /** US dollars. Absent means unknown, never free. */
  readonly cost?: number;
  /** From the call to its first content. */
  readonly ttft_ms?: number;
  readonly duration_ms: number;
  /** The model that answered, as the endpoint named it. */
  readonly model?: string;
  /** The endpoint's id of the answer. */
  readonly response_id?: string;
  /** Whose key of the endpoint it was called with, where users may have their own. */
  readonly key_of?: "user" | "tenant" | "gateway";
}

/** A model call begins. `iteration` in the envelope counts from 1. */
export interface IterationStart {
  /** From 1; a later attempt replaces what an earlier one streamed. */
  readonly attempt: number;
  readonly model: string;
  /** SHA-256 in hex of the prompt before the messages: tools and components. */
  readonly prefix_hash?: string;
  /** The prompt's components by name, each with the first 12 hex digits of its SHA-256: with a turn's first call, and again when the prefix has changed. */
  readonly components?: Readonly<Record<string, string>>;
  /** With `components`: the estimated size of the client's instructions in the prompt; absent without any. */
  readonly instructions_tokens?: number;
  /** With `components`: prompt and tools are in their short form; absent: in the full one. */
  readonly prompt_profile?: "small";
  /** With `components`: tools that the model is not told of, as a policy denies them or there is no room for them in its window. */
  readonly tools_left_out?: readonly string[];
}

/** An attempt failed or was lost: drop what it streamed; a new attempt of the same iteration follows. */
export interface IterationSuperseded {
  readonly attempt: number;
  /** An in-stream error code. */
  readonly reason: string;
  /** True when the endpoint had begun to answer. */
  readonly began?: boolean;
  /** What the endpoint had reported until then. */
  readonly usage?: Usage;
}

/** Something was remembered, corrected, forgotten, restored or erased. */
export interface Memory {
  readonly op: "remembered" | "reinforced" | "corrected" | "confirmed" | "flagged" | "forgotten" | "restored" | "erased";
  readonly memory_id: string;
  /** The type of the memory: preference, fact, constraint, ... */
  readonly kind: string;
  /** What is remembered from now on. */
  readonly content?: string;
  readonly reason: string;
  /** Of the memory, after this. */
  readonly version?: number;
  /** The user's id, `model`, `keeper`, or a tool's name. */
  readonly by?: string;
  readonly status?: "active" | "suppressed" | "frozen" | "replaced";
  /** The memory that says it now. */
  readonly superseded_by?: string;
  /** It may have been planted, and is not recalled before somebody confirms it. */
  readonly quarantined?: true;
  /** Who stated it: the user, or the user confirmed it; the model; a tool; or the model after it had read something that the operator does not trust (`outside`). */
  readonly origin?: "user" | "confirmed" | "model" | "tool" | "outside";
  /** The tools whose output the model had read when it was saved; absent: none. */
  readonly tools?: readonly string[];
  /** What led to the change: `user`, who made it or whose newest message asks for it; `model`, of its own accord; `outside`, the model after it had read something that the operator does not trust, and no word of the user asks for it; `tool`, which suggested it; `learning` from the conversation. */
  readonly cause?: "user" | "model" | "outside" | "tool" | "learning";
  /** The tools that the operator does not trust, files and conversations from elsewhere whose words the model had in context when it made the change; absent: none. */
  readonly sources?: readonly string[];
  /** Of what was forgotten: until when it can be restored, Unix milliseconds. */
  readonly restorable_until?: number;
}

/** What a tool thinks is worth remembering. Whether it is, the memory decides. */
export interface MemoryWriteSuggestion {
  readonly owner_type: "user" | "household" | "task" | "group";
  readonly owner_id: string;
  readonly type: "preference" | "fact" | "event" | "summary";
  readonly importance: number;
  readonly content: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Something that was found and not shown, and why; `too_long`: it is shown by its summary alone. */
export interface Omission {
  readonly id: string;
  readonly reason: "budget" | "similar" | "too_long";
}

/** Something was looked up. Never emitted with empty results. */
export interface Retrieval {
  readonly query: string;
  readonly source: string;
  readonly results: readonly RetrievalHit[];
  /** Hits that were found and not shown. */
  readonly omitted?: number;
  /** Estimated size of the results in tokens. */
  readonly tokens: number;
  /** True when a part of the search did not work. */
  readonly degraded?: boolean;
  /** How long the search took. */
  readonly duration_ms?: number;
  /** The first of what `omitted` counts, and of what is shown by its summary alone for want of room. */
  readonly omissions?: readonly Omission[];
  /** Of memories: what stands in the prompt for the session, what changed since, or what was looked up: summaries, or everything. */
  readonly mode?: "snapshot" | "changes" | "catalog" | "details";
  /** Why it was looked for, in words. */
  readonly notes?: readonly string[];
}

/** One thing that was found. */
export interface RetrievalHit {
  readonly id: string;
  readonly source: string;
  readonly snippet: string;
  /** Higher is better; comparable within one retrieval only. */
  readonly score: number;
  readonly title?: string;
  /** Of a memory: preference, fact, ... */
  readonly type?: string;
  readonly importance?: number;
  /** Its place by words. */
  readonly lexical_rank?: number;
  /** Its place by meaning. */
  readonly vector_rank?: number;
  readonly freshness?: number;
  readonly version?: number;
  /** `before`: it is in the context of this session already and not repeated. */
  readonly told?: "now" | "before";
  /** How a memory is shown; of a passage `snippet` is its text. */
  readonly form?: "full" | "passage" | "summary";
  /** The number of that passage. */
  readonly passage?: number;
}

/** A schedule of this session was changed, or did not run when it was due. A run itself is a turn, with `dialect` schedule in its `turn_start`. */
export interface Schedule {
  readonly schedule_id: string;
  readonly name: string;
  readonly action: "created" | "paused" | "resumed" | "run_asked" | "deleted" | "missed" | "refused";
  /** The time that was missed, or at which the turn was refused. */
  readonly due_at?: number;
  /** When it runs next. Absent: not any more, or not before it is resumed. */
  readonly next_due_at?: number;
  /** Why: late, or the code of the refusal. */
  readonly code?: string;
  /** The user's id, or `model`. Absent: the gateway itself. */
  readonly by?: string;
}

/** A written skill was read, or what was asked of a skill was refused. */
export interface Skill {
  readonly name: string;
  readonly type: "function" | "markdown" | "mcp";
  readonly action: "read" | "refused";
  readonly reason?: string;
  /** The file that was read, if not SKILL.md itself. */
  readonly path?: string;
  /** SHA-256 of what was read, in hex. */
  readonly digest?: string;
  /** Globs of the tools that may be called from here on. Absent: the skill sets no limit. */
  readonly allowed_tools?: readonly string[];
}

/** One step of what a tool did. Inputs and outputs that are too large are cut and marked as cut. */
export interface StepTrace {
  readonly step_id: string;
  readonly step_name: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly duration_ms: number;
  readonly error?: string;
  /** When it began, Unix milliseconds. */
  readonly timestamp?: number;
}

/** A piece of the answer. The pieces of one iteration concatenate to its text byte for byte. */
export interface Text {
  readonly text: string;
}

/** A piece of the model's thinking. */
export interface Thinking {
  readonly text: string;
}

/** A model gave the session its title, once, in place of the beginning of its first message. */
export interface Title {
  readonly title: string;
  readonly model: string;
  /** Of the call; in no turn's usage. */
  readonly usage?: Usage;
  /** US dollars. Absent means unknown. */
  readonly cost?: number;
  readonly duration_ms: number;
}

/** The model calls a tool: sent once, when the arguments are complete and valid JSON. */
export interface ToolCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** What a repetition would do; unknown tools count as effectful. */
  readonly effect: "read_only" | "idempotent" | "effectful";
  /** It does not run before a person allows it, now or in a grant before. */
  readonly needs_approval?: true;
  /** client: the user's client runs it and gives the result. Absent: the gateway does. */
  readonly runs_on?: "client";
}

/** The progress of a long tool. */
export interface ToolProgress {
  readonly message?: string;
  /** Share done, 0 to 1. */
  readonly progress?: number;
}

/** Why the turn failed. Comes before the `done` of a failed turn. */
export interface TurnError {
  readonly code: "upstream_overloaded" | "upstream_rate_limited" | "upstream_timeout" | "upstream_auth" | "upstream_quota" | "upstream_error" | "upstream_truncated" | "provider_key_missing" | "context_overflow" | "content_refused" | "max_iterations" | "max_tool_calls" | "budget_exceeded" | "tool_timeout" | "tool_failed" | "cancelled" | "server_restart" | "storage_unavailable" | "storage_damaged" | "archive_damaged" | "decryption_failed" | "internal";
  readonly message: string;
  readonly retryable: boolean;
}

/** A turn begins. The first event of a turn. */
export interface TurnStart {
  /** The user's message. */
  readonly input: string;
  readonly model: string;
  /** W3C trace id of the turn's trace. */
  readonly trace_id: string;
  readonly client_message_id?: string;
  /** How long the message waited for the turns before it. */
  readonly queued_ms?: number;
  /** Where the trace can be looked at. */
  readonly trace_url?: string;
  /** The files that came with the message. */
  readonly attachments?: readonly AttachedFile[];
  /** It did not run here: a client brought it along when the session was made. What it used is unknown. */
  readonly seeded?: true;
  /** What it was asked after: a turn, or `root` for none. Absent where that is the turn that ran before it in the log. */
  readonly parent_turn_id?: string;
  /** The adapter by which its client asked, as `GATEWAY_ADAPTERS` names it. Absent: the gateway's own routes. */
  readonly dialect?: string;
  /** Who sent the message, in a session that is shared: the `handle` of a member of its project. Absent: whose session it is. */
  readonly by?: string;
}

/** Something a person should know; the turn goes on. */
export interface TurnWarning {
  readonly code: string;
  readonly message: string;
  /** With `prompt_changed`: the codes of all reasons why a new prompt generation begins, where there are several. With a single one the warning has its code. */
  readonly reasons?: readonly string[];
  /** With `events_lost`: the first of the numbers that are left out. */
  readonly first?: number;
  /** With `events_lost`: the last of them. */
  readonly last?: number;
  /** With `model_busy`: how many requests the model's endpoint answers before this one. The wait is over with the `iteration_start` that follows. */
  readonly before?: number;
}

/** Tokens of one or several model calls, as the endpoint counts them: `input_tokens` excludes what was read from or written to the prompt cache (Anthropic Messages API, "usage"). */
export interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_input_tokens?: number;
  readonly cache_creation_input_tokens?: number;
}

/** Chat Gateway event, contract v1. */
export type KnownEvent =
  | TurnStartEvent
  | IterationStartEvent
  | RetrievalEvent
  | ThinkingEvent
  | TextEvent
  | ToolCallEvent
  | ToolProgressEvent
  | CallResultEvent
  | ApprovalRequestEvent
  | ApprovalResponseEvent
  | MemoryEvent
  | SkillEvent
  | ArtifactEvent
  | CompressionEvent
  | TitleEvent
  | ScheduleEvent
  | IterationEndEvent
  | IterationSupersededEvent
  | TurnWarningEvent
  | TurnErrorEvent
  | DoneEvent
  | FeedbackEvent;

/** Every type of event that this version knows. */
export const EVENT_TYPES = [
  "approval_request",
  "approval_response",
  "artifact",
  "compression",
  "done",
  "error",
  "feedback",
  "iteration_end",
  "iteration_start",
  "iteration_superseded",
  "memory",
  "retrieval",
  "schedule",
  "skill",
  "text",
  "thinking",
  "title",
  "tool_call",
  "tool_progress",
  "tool_result",
  "turn_start",
  "warning",
] as const;
