// Generated from gateway/api/ by generate.py: edit there.

export interface AcceptedTurn {
  readonly turn_id: string;
  readonly session_id: string;
  readonly status: "accepted" | "running" | "awaiting_approval" | "awaiting_tool_result" | "done";
  /** Follow the session's events after this one to see the whole turn. */
  readonly seq: number;
}

/** Which of two memories holds that contradict each other. */
export interface AnswerBody {
  readonly earlier_id: string;
  readonly later_id: string;
  /** later, earlier: that one takes the place of the other, which can be restored. both: they are not asked about again. undecided: takes both back. */
  readonly answer: "later" | "earlier" | "both" | "undecided";
}

/** A call that needs, or needed, a person's decision. */
export interface Approval {
  readonly session_id: string;
  readonly turn_id: string;
  readonly tool_call_id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Why it was asked about. */
  readonly reason?: string;
  readonly requested_at: number;
  readonly expires_at: number;
  /** Absent while nobody decided. */
  readonly decision?: "approved" | "denied";
  readonly by?: string;
  readonly decided_at?: number;
  readonly scope?: "once" | "session" | "always";
  /** The reason of a denial, which the model reads. */
  readonly answer?: string;
  readonly edited_arguments?: Readonly<Record<string, unknown>>;
}

/** The caller's calls that wait for a decision. */
export interface ApprovalsReply {
  readonly approvals: readonly Approval[];
}

export interface Archived {
  readonly session_id: string;
  /** Whether anything was: false when all was in the archive already. */
  readonly moved: boolean;
  /** Of the archive; absent when there was nothing to move. */
  readonly number?: number;
  readonly events?: Moved;
  readonly messages?: Moved;
  readonly created_at?: number;
}

/** Exactly one of `text` (or `content`, which is the same) and `data`. What is larger than a JSON body may be is sent as it is, with its own content type. */
export interface ArtifactBody {
  /** A session of yours that it belongs to, and that keeps it. */
  readonly session_id?: string;
  /** You; for another user nothing is kept. */
  readonly user_id?: string;
  /** Absent: the session's. */
  readonly project_id?: string;
  /** The call that it is a result of. */
  readonly tool_call_id?: string;
  /** When it may go: Unix milliseconds or seconds, or a date in ISO 8601. At the latest, and where it is absent, that is GATEWAY_ARTIFACT_TTL from now. */
  readonly expires_at?: number | string;
  readonly text?: string;
  /** The same as text. */
  readonly content?: string;
  readonly data?: string;
  readonly name?: string;
  readonly mime?: string;
  /** The same as mime. */
  readonly mime_type?: string;
  /** What you want to note of it: at most 4096 bytes of JSON. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** An artifact with what is in it, in short. */
export interface ArtifactCompact {
  readonly ref: string;
  readonly name?: string;
  /** As the content itself shows. */
  readonly mime: string;
  readonly kind: "text" | "json" | "csv" | "markdown" | "code" | "log" | "image" | "pdf" | "binary";
  /** Bytes. */
  readonly size: number;
  /** Absent where it is no text. */
  readonly lines?: number;
  /** Of the content, in hex: the ETag. */
  readonly sha256: string;
  /** Where it was made. */
  readonly session_id?: string;
  /** In a list: the session that used it last. */
  readonly used_in?: string;
  readonly turn_id?: string;
  readonly tool_call_id?: string;
  readonly project_id?: string;
  /** In a model's words, if one was asked. */
  readonly summary?: string;
  /** What was noted of it. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly created_at: number;
  /** It is removed some time after that; it counts only while no session uses it. */
  readonly expires_at: number;
  /** By its kind: a shape, columns, headings, the first and last lines, … */
  readonly compact: string;
  /** Queries that read a part of this very artifact. */
  readonly locators: Readonly<Record<string, string>>;
  /** What the model gets of it when it is the only file of a message; absent where that cannot be told now. */
  readonly reading?: FileReading;
}

/** An artifact. Times are Unix milliseconds. */
export interface ArtifactItem {
  readonly ref: string;
  readonly name?: string;
  /** As the content itself shows. */
  readonly mime: string;
  readonly kind: "text" | "json" | "csv" | "markdown" | "code" | "log" | "image" | "pdf" | "binary";
  /** Bytes. */
  readonly size: number;
  /** Absent where it is no text. */
  readonly lines?: number;
  /** Of the content, in hex: the ETag. */
  readonly sha256: string;
  /** Where it was made. */
  readonly session_id?: string;
  /** In a list: the session that used it last. */
  readonly used_in?: string;
  readonly turn_id?: string;
  readonly tool_call_id?: string;
  readonly project_id?: string;
  /** In a model's words, if one was asked. */
  readonly summary?: string;
  /** What was noted of it. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly created_at: number;
  /** It is removed some time after that; it counts only while no session uses it. */
  readonly expires_at: number;
}

export interface ArtifactPage {
  readonly artifacts: readonly ArtifactItem[];
  /** Bytes of all your artifacts, as they count against the quota. */
  readonly used: number;
  readonly quota: number;
  /** Cursor of the next page; absent on the last one. */
  readonly next?: string;
}

/** A part of an artifact. `first` to `last` of `total` are lines from 1, bytes from 0, or what a JSON path or a search found, from 1; all are 0 where there is nothing. */
export interface ArtifactPart {
  readonly ref: string;
  readonly how: "lines" | "bytes" | "json_path" | "search";
  readonly content: string;
  readonly first: number;
  readonly last: number;
  readonly total: number;
  /** True: there are more than `total`, not counted. */
  readonly at_least?: boolean;
  /** How to go on, such as lines=51-100; beside the same search. Absent at the end. */
  readonly next?: string;
  /** What else there is to know of how it is shown. */
  readonly remark?: string;
}

export interface ArtifactsQuery {
  /** Those that this session uses. */
  readonly session_id?: string;
  /** Those that this turn made. */
  readonly turn_id?: string;
  /** Those of this kind. */
  readonly kind?: "text" | "json" | "csv" | "markdown" | "code" | "log" | "image" | "pdf" | "binary";
  /** Words in the name or the summary, all of them, the last by its beginning. A page may be empty and have a `next`: so many were looked through. */
  readonly q?: string;
  readonly limit?: number;
  /** The `next` of the former page. */
  readonly before?: string;
}

/** A file that goes with a message: `ref` names an artifact, `name` with `text` or `data` brings it along. What is larger than a body may be is uploaded as an artifact first. */
export interface AttachmentBody {
  readonly ref?: string;
  readonly name?: string;
  readonly text?: string;
  readonly data?: string;
  readonly mime?: string;
}

/** One thing that was done, or refused. */
export interface AuditItem {
  /** The order in which they were stored. */
  readonly number: number;
  /** Unix milliseconds. */
  readonly at: number;
  readonly tenant: string;
  /** A user's id, `cli:…`, or `erased:…`; absent: nobody knows who. */
  readonly actor?: string;
  readonly key_id?: string;
  readonly address?: string;
  /** Such as `session.delete`; `access`: it was refused, and only reads. */
  readonly action: string;
  readonly subject_kind?: string;
  readonly subject_id?: string;
  /** `done`, `refused:<code>` or `failed:<code>`. */
  readonly result: string;
  readonly request_id?: string;
  /** How many equal refusals this stands for, or how many ended. */
  readonly times: number;
}

/** The newest first; `next` when there are more. */
export interface AuditPage {
  readonly entries: readonly AuditItem[];
  readonly next?: number;
}

/** Which entries, page by page. */
export interface AuditPageQuery {
  /** The id of a user. */
  readonly actor?: string;
  /** One action, such as `session.delete`, or a subject: `session`. */
  readonly action?: string;
  readonly since?: number;
  /** Not included. */
  readonly until?: number;
  /** `next` of the page before. */
  readonly before?: number;
  readonly limit?: number;
}

/** Which entries. Times are Unix milliseconds. */
export interface AuditQuery {
  /** The id of a user. */
  readonly actor?: string;
  /** One action, such as `session.delete`, or a subject: `session`. */
  readonly action?: string;
  readonly since?: number;
  /** Not included. */
  readonly until?: number;
}

/** Where the person comes back to. */
export interface BeginMcpSignInBody {
  /** `page`: to this gateway, in the browser that asks; else an http address on loopback, where a program waits that then asks POST /api/mcp/sign-ins. */
  readonly redirect_uri?: string;
}

/** Where to sign in. */
export interface BegunMcpSignIn {
  /** The authorization server's page, for a browser. */
  readonly url: string;
  /** Seconds in which one must come back. */
  readonly expires_in: number;
}

export interface BranchList {
  /** The branch in which turns go on. */
  readonly active: number;
  readonly branches: readonly BranchReply[];
}

export interface BranchQuery {
  /** Absent: the active one. */
  readonly branch?: number;
}

export interface BranchReply {
  readonly branch: number;
  /** The branch that it has its beginning in common with. */
  readonly parent?: number;
  /** The last turn that both have; absent: none. */
  readonly fork_turn_id?: string;
  /** Its newest turn; absent before the first. */
  readonly last_turn_id?: string;
  /** Turns of its own, which its parent does not have. */
  readonly turns: number;
  readonly created_at: number;
}

/** What an identity provider or authorization server sends the browser back with. */
export interface CallbackQuery {
  readonly code?: string;
  readonly state?: string;
  readonly iss?: string;
  readonly error?: string;
}

/** Who asks, and what they may choose. */
export interface Caller {
  readonly user_id: string;
  readonly tenant: string;
  readonly roles: readonly ("admin" | "member" | "reader" | "service")[];
  readonly scopes: readonly ("chat" | "read" | "memory" | "artifacts" | "admin" | "metrics")[];
  /** Keys are asked for: who has another one is another user. */
  readonly has_key: boolean;
  /** By the page's sign-in, which can be ended (POST /auth/sign-out). */
  readonly signed_in: boolean;
  /** Looks after the people of their tenant: its keys, audit, holds. */
  readonly is_admin: boolean;
  /** Looks after the gateway: may switch skills, change documents, try edits of the prompt. */
  readonly is_operator: boolean;
  /** Those that a turn may choose, the default first. */
  readonly models: readonly string[];
  /** Links to chats may be for anybody who has them. */
  readonly public_links: boolean;
}

export interface ChatBody {
  /** Repeating a request with the same id returns the same turn. */
  readonly client_message_id?: string;
  /** What to do when another turn of the session runs. */
  readonly on_conflict?: "reject" | "queue" | "interrupt";
  /** What to do when the connection of this stream ends before `done`. release: the turn is cancelled unless somebody reads it again within 15 seconds. */
  readonly on_disconnect?: "continue" | "release";
  /** One of the allowed models. */
  readonly model?: string;
  /** Files that the message brings along. */
  readonly attachments?: readonly AttachmentBody[];
  /** The user's message. It may be empty where files come with it. */
  readonly message: string;
  /** The turn after which this one comes, in a new branch where others do already; `root`: before all turns. Absent: the last one of the active branch. */
  readonly parent_turn_id?: string;
  /** Tools that you run yourself, beside those of the gateway, in this turn. */
  readonly tools?: readonly ClientToolBody[];
  /** What the client application tells the model, from this turn on, below the gateway's own prompt: at most 131072 characters. Absent: those of the turn before stay. Empty: none. */
  readonly instructions?: string;
  /** Its id, or what you call it: made if it does not exist. Absent: a new session. */
  readonly session_id?: string;
  /** The project of a new session; an older one keeps its own. */
  readonly project_id?: string;
  /** The role, or interface, that a new session is in; an older one keeps its own. */
  readonly role_id?: string;
}

/** A model that a turn may choose. What is absent is not known; all but its tokens is as its endpoint says. */
export interface ChoosableModel {
  readonly id: string;
  readonly is_default: boolean;
  /** What it reads at once, with what it writes. */
  readonly context_window: TokenLimit;
  /** The most tokens that a call asks it for. */
  readonly max_output: TokenLimit;
  /** Whether it looks at images. */
  readonly images?: boolean;
  /** Whether it looks at PDFs. */
  readonly pdfs?: boolean;
  /** Whether it calls tools; false: it is offered none. */
  readonly tools?: boolean;
  /** The ways it takes to think: with a budget (`enabled`), as it decides (`adaptive`). */
  readonly thinking?: readonly ("enabled" | "adaptive")[];
  readonly lifecycle?: "active" | "deprecated" | "retired";
  /** The day when it is to be retired. */
  readonly retires_at?: string;
}

/** The default first. `endpoint` is the server behind it, as far as it tells (`anthropic`, `llama.cpp`, `vllm`, `ollama`, …), `slots` how many requests that answers at once; `notices` are sentences for who runs the gateway: a model that is to be retired, several to choose a default of. */
export interface ChoosableModels {
  readonly models: readonly ChoosableModel[];
  readonly endpoint?: string;
  readonly slots?: number;
  readonly notices: readonly string[];
}

/** A tool that the client runs: the model calls it, and the turn waits for the result. */
export interface ClientToolBody {
  /** Not one of the gateway's own. */
  readonly name: string;
  readonly description?: string;
  /** A JSON Schema (2020-12) of type object. */
  readonly input_schema: Readonly<Record<string, unknown>>;
}

/** One component: its file, its limits, and what became of it in the prompt. */
export interface ComponentReport {
  readonly name: string;
  readonly layer: "SYSTEM" | "MEMORY" | "USER" | "TOOL INSTRUCTIONS";
  readonly file: string;
  /** `default` when the file is not in the prompts folder or unusable; `edited` when the operator has written something in its place. */
  readonly source: "file" | "default" | "edited";
  /** Cleaned, before it is cut. */
  readonly text: string;
  /** SHA-256 of the text, in hex. */
  readonly digest: string;
  /** Estimated size in the prompt. */
  readonly tokens: number;
  /** Estimated size before it was cut. */
  readonly tokens_before: number;
  readonly truncated: boolean;
  readonly priority: number;
  readonly min_tokens: number;
  readonly max_tokens: number;
  readonly never_cut: boolean;
}

/** One version with its summary. */
export interface CompressionDetails {
  readonly session_id: string;
  readonly version: number;
  /** The version that covers what comes before. */
  readonly parent?: number;
  readonly from_position: number;
  readonly to_position: number;
  /** A message in the range that is sent verbatim. */
  readonly kept_position?: number;
  readonly trigger: "manual" | "automatic" | "overflow";
  /** What the summary was made of. */
  readonly source: "messages" | "summary_and_messages";
  /** Empty where no model could write the summary. */
  readonly model: string;
  /** Whether the summary was made without a model: of the facts that were known, and of first and last lines. */
  readonly without_model: boolean;
  /** SHA-256 of the instructions to the summariser. */
  readonly prompt_digest: string;
  readonly tokens_before: number;
  readonly tokens_after: number;
  readonly usage?: Usage;
  /** US dollars. Absent means unknown. */
  readonly cost?: number;
  readonly archive_path: string;
  /** Bytes, zipped. */
  readonly archive_size: number;
  /** Of the archive's lines, unzipped. */
  readonly sha256: string;
  readonly created_at: number;
  /** The branch whose messages it covers. */
  readonly branch: number;
  readonly summary: Readonly<Record<string, unknown>>;
}

/** All versions that hold in the active branch, the oldest first. */
export interface CompressionList {
  /** The version in force; absent: every message is sent. */
  readonly active?: number;
  readonly versions: readonly CompressionVersion[];
}

/** One version. Positions count the session's messages from 1. */
export interface CompressionVersion {
  readonly session_id: string;
  readonly version: number;
  /** The version that covers what comes before. */
  readonly parent?: number;
  readonly from_position: number;
  readonly to_position: number;
  /** A message in the range that is sent verbatim. */
  readonly kept_position?: number;
  readonly trigger: "manual" | "automatic" | "overflow";
  /** What the summary was made of. */
  readonly source: "messages" | "summary_and_messages";
  /** Empty where no model could write the summary. */
  readonly model: string;
  /** Whether the summary was made without a model: of the facts that were known, and of first and last lines. */
  readonly without_model: boolean;
  /** SHA-256 of the instructions to the summariser. */
  readonly prompt_digest: string;
  readonly tokens_before: number;
  readonly tokens_after: number;
  readonly usage?: Usage;
  /** US dollars. Absent means unknown. */
  readonly cost?: number;
  readonly archive_path: string;
  /** Bytes, zipped. */
  readonly archive_size: number;
  /** Of the archive's lines, unzipped. */
  readonly sha256: string;
  readonly created_at: number;
  /** The branch whose messages it covers. */
  readonly branch: number;
}

/** Two memories of which one can hold only: the `later` one was said or changed after the other. */
export interface ContradictionItem {
  readonly earlier: MemoryItem;
  readonly later: MemoryItem;
}

export interface Contradictions {
  /** Those that wait for an answer, at most 20, the one with the last change first. */
  readonly contradictions: readonly ContradictionItem[];
}

export interface ControlBody {
  /** You; another user's memories are refused. */
  readonly user_id?: string;
  /** The role, or interface. */
  readonly role_id?: string;
  readonly project_id?: string;
  /** A session of yours; brings its role and project along where they are absent. */
  readonly session_id?: string;
  /** The task: what is of other tasks is not seen. */
  readonly task_id?: string;
  /** The group: what is of other groups is not seen. */
  readonly group_id?: string;
  /** The user's message. */
  readonly user_message: string;
  /** Messages of the session before this one. */
  readonly message_count?: number;
}

/** What a message needs. All but `needed`, `need_memory` and `notes` can be passed on to retrieve. */
export interface ControlReply {
  readonly needed: "yes" | "no" | "maybe";
  /** The same as needed. */
  readonly need_memory: "yes" | "no" | "maybe";
  /** None: all of them. */
  readonly memory_types: readonly ("preference" | "fact" | "event" | "summary" | "project_decision" | "user_preference" | "discussion_conclusion" | "action_item" | "constraint" | "risk" | "feedback" | "skill" | "reference")[];
  readonly mode: "catalog" | "details";
  /** The same as mode. */
  readonly retrieval_mode: "catalog" | "details";
  readonly budget_tokens: number;
  readonly time_range: "last_7_days" | "last_30_days" | "all";
  readonly notes: readonly string[];
}

export interface CorrectBody {
  readonly memory_id: string;
  /** suppress: recalled with a lower score. freeze: not recalled any more. replace: new_content says it now. activate: undoes suppress and freeze. */
  readonly action: "suppress" | "freeze" | "replace" | "activate";
  /** For replace. */
  readonly new_content?: string;
  /** What you said that shows it, or in words why. */
  readonly evidence?: EvidenceBody | string;
}

export interface CursorQuery {
  /** Cursor: the seq of the last event seen. */
  readonly after?: number;
}

export interface DayUsed {
  /** Turns that are over; what is done beside them is none. */
  readonly turns: number;
  /** Those of the prompt cache too. */
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Of what has a known price; absent: nothing of what was used has one. */
  readonly cost?: number;
  /** Turns and calls that used tokens of which no price is known. */
  readonly unpriced: number;
  /** As 2026-11-30. */
  readonly day: string;
}

/** What a person decides about a call. */
export interface DecisionBody {
  readonly decision: "approve" | "deny";
  /** session and always: this tool is not asked about again. */
  readonly scope?: "once" | "session" | "always";
  /** The reason of a denial, which the model reads. */
  readonly reason?: string;
  /** Run the call with these instead of the model's; must fit the tool's schema. */
  readonly arguments?: Readonly<Record<string, unknown>>;
}

/** A memory that was deleted, until it is erased or its time is over. */
export interface DeletedItem {
  readonly id: string;
  readonly type: "preference" | "fact" | "event" | "summary" | "project_decision" | "user_preference" | "discussion_conclusion" | "action_item" | "constraint" | "risk" | "feedback" | "skill" | "reference";
  /** A secret in it is masked. */
  readonly content: string;
  readonly summary: string;
  /** That of its deletion; the ETag. */
  readonly version: number;
  /** Unix milliseconds. */
  readonly deleted_at: number;
  /** Then it is removed for good. Unix milliseconds. */
  readonly restorable_until: number;
  /** Who deleted it: a user's id, `model`, `keeper`, or a tool's name. */
  readonly actor: string;
  readonly reason: string;
  /** The turn in which that was. */
  readonly turn_id?: string;
}

/** Which deliveries. */
export interface DeliveriesQuery {
  readonly state?: "pending" | "delivered" | "dead";
  /** `next` of the page before. */
  readonly before?: number;
  readonly limit?: number;
}

/** The newest first; `next` when there are more. */
export interface DeliveryList {
  readonly deliveries: readonly DeliveryReply[];
  readonly next?: number;
}

/** A delivery to a webhook. Times are Unix milliseconds. */
export interface DeliveryReply {
  /** The `webhook-id` of its posts. */
  readonly id: string;
  readonly type: string;
  /** When it happened. */
  readonly at: number;
  readonly session_id?: string;
  readonly turn_id?: string;
  readonly state: "pending" | "delivered" | "dead";
  readonly attempts: number;
  /** When it is tried next, at the earliest. */
  readonly due_at?: number;
  readonly ended_at?: number;
  /** What the address answered last. */
  readonly status?: number;
  /** Why its last try was no success. */
  readonly error?: string;
}

/** Of the file system on which the data folder lies, in bytes. */
export interface DiskSpace {
  readonly free: number;
  readonly total: number;
}

/** The documents in use and those that are not any more. `warnings` name files that cannot be used and those that are left out. */
export interface DocumentList {
  readonly documents: readonly DocumentRow[];
  readonly deprecated: readonly DocumentRow[];
  readonly warnings: readonly string[];
}

/** A document, without its content. */
export interface DocumentRow {
  readonly id: string;
  readonly type: "skill" | "reference";
  readonly skill: string;
  readonly reference: string;
  readonly name: string;
  readonly description: string;
  readonly snippet: string;
  /** Relative to the folder of the documents, or to that of the skills. */
  readonly file: string;
  /** Unix milliseconds, as is updated_at. */
  readonly created_at: number;
  readonly updated_at: number;
}

/** A session that would go. */
export interface DueReply {
  readonly session_id: string;
  readonly user_id: string;
  readonly tenant: string;
  readonly action: "archive" | "delete";
  /** When it was used last, Unix milliseconds. */
  readonly updated_at: number;
  /** Since when it is due. */
  readonly since: number;
}

/** For which turn, and what components would say. */
export interface EditsBody {
  /** The next turn of this session. */
  readonly session_id?: string;
  /** Of a new session. */
  readonly role_id?: string;
  /** Of a new session. */
  readonly project_id?: string;
  /** Shows what the memory would add to this message. */
  readonly message?: string;
  /** Shows the prompt with these instructions of a client application. */
  readonly instructions?: string;
  /** Texts by the names of components. */
  readonly edits: Readonly<Record<string, string>>;
}

/** What is erased cannot be had back. */
export interface ErasureBody {
  /** The id of the user who is erased, typed once more. */
  readonly confirm: string;
}

/** How far the erasure of a person is, and in the end the report. Times are Unix milliseconds. */
export interface ErasureReply {
  readonly id: string;
  readonly tenant: string;
  /** The user's id, and the pseudonym in its place once all is gone. */
  readonly person: string;
  readonly requested_by: string;
  readonly requested_at: number;
  /** held: a legal hold was placed meanwhile. */
  readonly state: "requested" | "running" | "held" | "done";
  readonly step: string;
  /** Why it does not go on; it is tried again by itself. */
  readonly waits_for?: string;
  /** How many there were of each kind when it began; done: gone, but for what is kept. */
  readonly found?: Readonly<Record<string, number>>;
  /** What stays, and why. */
  readonly kept: readonly KeptReply[];
  readonly finished_at?: number;
}

export interface EventPage {
  readonly events: readonly Readonly<Record<string, unknown>>[];
  readonly head: number;
  /** Cursor of the next page; absent on the last one. */
  readonly next?: number;
  /** With `before`: that of the page of older events; absent on the first one. */
  readonly previous?: number;
}

export interface EventsQuery {
  /** Cursor: the seq of the last event seen. */
  readonly after?: number;
  /** Only this turn; the stream ends after its done. */
  readonly turn_id?: string;
  /** Comma-separated event types. */
  readonly types?: string;
  /** 0: end at the session's last event. */
  readonly follow?: "0" | "1";
  /** Events of a JSON page. */
  readonly limit?: number;
  /** A JSON page of the newest events before this seq, after `after`; beyond the last one: from the end. */
  readonly before?: number;
  /** Only the turns of that branch, and what happened beside turns; not with a live stream. */
  readonly branch?: number;
}

/** What you said that shows it, word for word. */
export interface EvidenceBody {
  readonly session_id: string;
  /** Of your message in the session, from 1. */
  readonly position: number;
  /** A piece of that message. */
  readonly quote: string;
}

export interface EvidenceItem {
  readonly session_id: string;
  readonly position: number;
  readonly quote: string;
  /** Where they are the assistant's words, which the user agreed to. */
  readonly author?: "assistant";
}

export interface ExportQuery {
  /** jsonl: all of it, to be imported. The others: to be read by people. */
  readonly format?: "jsonl" | "markdown" | "html";
  /** Of the words around what was said; absent: that of the reader's browser. */
  readonly language?: "en" | "zh-Hans" | "zh-Hant";
}

/** Why the gateway is not ready. */
export interface FailedCheck {
  readonly code: string;
  readonly message: string;
}

/** A background task that failed and has not been steady since: since when (Unix ms), how often in a row, and the type or code of its newest failure. */
export interface FailingTask {
  readonly since: number;
  readonly failures: number;
  readonly why: string;
}

/** What a person thinks of a turn. */
export interface FeedbackBody {
  /** none takes it back. */
  readonly rating: "up" | "down" | "none";
  readonly reason?: string;
  /** What it is about: all that was done, or the answer alone. */
  readonly of?: "turn" | "message";
}

export interface FeedbackReply {
  readonly rating: "up" | "down" | "none";
  readonly reason?: string;
  readonly of: "turn" | "message";
}

/** What is no text for the model: it becomes an artifact. */
export interface FileBlock {
  readonly type: "file";
  /** The content in base64. */
  readonly data: string;
  readonly mime?: string;
  readonly name?: string;
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

/** A prompt, with what is filled in. */
export interface FillMcpPromptBody {
  readonly server: string;
  readonly name: string;
  readonly arguments?: Readonly<Record<string, string>>;
}

/** The text of a prompt: a draft of a message, for a person to send or not. The server wrote it. */
export interface FilledMcpPrompt {
  readonly text: string;
}

/** What the authorization server has added to the address where the person came back. */
export interface FinishMcpSignInBody {
  readonly state: string;
  readonly code?: string;
  readonly iss?: string;
  readonly error?: string;
}

/** What becomes of the chats of the file. */
export interface ForeignChatsQuery {
  /** true: tell what is in the file, and import nothing. */
  readonly preview?: boolean;
  /** Numbers of chats in the file, as the preview tells them: `1-40,55`. Absent: all. */
  readonly only?: string;
}

/** Where the words of a search stand, in pieces that make one text. */
export interface FoundReply {
  /** All of it; absent: none of them is in it. */
  readonly title?: readonly PieceReply[];
  /** The newest turn that has all of them. */
  readonly turn_id?: string;
  /** What was said in that turn around them, on one line. */
  readonly text?: readonly PieceReply[];
}

/** What the caller allowed to run without asking. */
export interface Grants {
  readonly grants: readonly ToolGrant[];
}

/** Whether turns are taken. `failed` has the checks that say no, by name, and `failing_tasks` the background tasks that fail; only `/readyz` names them, with PostgreSQL the `replicas`, also when there is one, and in `newer_schema` what of its schema is newer than this version: `sessions`, `memories`, each with its revision. `notices` are sentences about the models: which one to set, which is to be retired. */
export interface Health {
  readonly status: "ok" | "draining" | "unavailable";
  readonly version: string;
  readonly model: string;
  readonly demo: boolean;
  readonly failed?: Readonly<Record<string, FailedCheck>>;
  readonly failing_tasks?: Readonly<Record<string, FailingTask>>;
  readonly replicas?: ReplicasSeen;
  readonly newer_schema?: Readonly<Record<string, string>>;
  readonly notices?: readonly string[];
}

/** A user or a session of which nothing is to be deleted. */
export interface HoldBody {
  readonly user?: string;
  readonly session_id?: string;
  /** The user's; absent: yours. Others need an admin of default. */
  readonly tenant?: string;
  /** For admins alone. */
  readonly reason: string;
}

/** The oldest first. */
export interface HoldList {
  readonly holds: readonly HoldReply[];
}

export interface HoldReply {
  readonly id: string;
  readonly kind: "user" | "session";
  /** The user or the session. */
  readonly subject_id: string;
  /** The user. */
  readonly owner: string;
  readonly tenant: string;
  readonly reason: string;
  readonly placed_by: string;
  /** Unix milliseconds. */
  readonly placed_at: number;
}

/** What became of a file. */
export interface Imported {
  readonly imported: number;
  /** Were remembered already, word for word. */
  readonly reinforced: number;
  /** Were there already, under their id: they stay as they are. */
  readonly known: number;
  readonly refused: number;
  /** The first 100 of the refused. */
  readonly refusals: readonly RefusedLine[];
  /** Of what was taken: quotes that are not in your sessions. */
  readonly quotes_dropped: number;
  /** Of what was taken: links to memories that are not here. */
  readonly links_dropped: number;
}

export interface ImportedSessions {
  readonly imported: number;
  readonly refused: number;
  /** Why: of the first 100 that were refused. */
  readonly reasons: readonly RefusedSession[];
}

/** The oldest first, at most 200. */
export interface InvitationList {
  readonly invitations: readonly InvitationReply[];
}

/** A project that you are asked into. Nothing of it is yours before you accept. */
export interface InvitationReply {
  readonly project_id: string;
  /** Of all. Clients of earlier versions read it. */
  readonly kind: "project";
  readonly name: string;
  /** That you would have. */
  readonly role: "owner" | "editor" | "reader";
  /** The user who asks. */
  readonly invited_by: string;
  readonly invited_at: number;
}

/** Who was asked in and has not answered yet. */
export interface InvitedReply {
  readonly user: string;
  readonly role: "owner" | "editor" | "reader";
  readonly invited_by: string;
  readonly invited_at: number;
}

export interface KeptReply {
  readonly what: string;
  /** Absent: unknown. */
  readonly count?: number;
  readonly why: string;
}

/** A key to make. */
export interface KeyBody {
  /** A few words by which people know it. */
  readonly name: string;
  /** Whose it is; absent: yours. Others need an admin. */
  readonly user?: string;
  /** The user's; absent: yours. Others need an admin of default. */
  readonly tenant?: string;
  readonly role?: "admin" | "member" | "reader" | "service";
  /** Some of the role's; absent: all of them. */
  readonly scopes?: readonly ("chat" | "read" | "memory" | "artifacts" | "admin" | "metrics")[];
  /** Unix milliseconds; absent: never. */
  readonly expires_at?: number;
}

/** The oldest first; revoked ones too. */
export interface KeyList {
  readonly keys: readonly KeyReply[];
}

/** A key, without its secret. Times are Unix milliseconds. */
export interface KeyReply {
  readonly id: string;
  readonly tenant: string;
  readonly user_id: string;
  readonly name: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly created_at: number;
  readonly created_by: string;
  readonly expires_at?: number;
  readonly revoked_at?: number;
  /** When it was used last, true to about a minute. */
  readonly used_at?: number;
}

/** Whose keys. */
export interface KeysQuery {
  /** All of your tenant, or of all tenants, for admins. */
  readonly everybody?: boolean;
}

/** A block of the system prompt, as the model gets it. */
export interface LayerText {
  readonly layer: "SYSTEM" | "MEMORY" | "USER" | "TOOL INSTRUCTIONS" | "CLIENT";
  readonly text: string;
  readonly components: readonly string[];
  /** The components with their digests and sizes. */
  readonly parts: readonly PartReport[];
}

/** A tool that the model is not told of. */
export interface LeftOutTool {
  readonly name: string;
  /** `denied` by the tool policy; `no_room` in a quarter of the model's window. */
  readonly why: "denied" | "no_room";
}

/** One of the operator's limits, as it stands. Cost is in US dollars. */
export interface LimitReply {
  /** What it is called, as in the header RateLimit: user:turns/minute. */
  readonly policy: string;
  readonly unit: "requests" | "turns" | "tokens" | "dollars";
  readonly limit: number;
  /** What was taken of it in this period. */
  readonly used: number;
  /** What open turns may still take. */
  readonly held: number;
  readonly left: number;
  /** When it begins anew; absent: it has no period. */
  readonly resets_at?: number;
}

export interface LimitRuleReply {
  readonly rule: string;
  readonly changed_by: string;
  /** Unix milliseconds. */
  readonly changed_at: number;
}

/** What limits there are, in the order in which they are asked. */
export interface LimitRules {
  readonly added: readonly LimitRuleReply[];
  /** GATEWAY_LIMITS; changed there alone. */
  readonly of_settings: readonly string[];
}

/** Rules in the form of GATEWAY_LIMITS, such as `user=ada:cost=20/month`, in the place of all that were set here before. Of those that count the same the first that fits holds, before any of the settings. */
export interface LimitsBody {
  readonly rules: readonly string[];
}

/** A link to make. */
export interface LinkBody {
  readonly session_id: string;
  /** anybody: whoever has it, where GATEWAY_PUBLIC_LINKS allows that. */
  readonly audience?: "signed_in" | "anybody";
  /** It shows what comes after now too. */
  readonly live?: boolean;
  /** Unix milliseconds; absent: never. */
  readonly expires_at?: number;
}

/** `from_id` depends on, was merged from, or contradicts `to_id`, or its user said that it holds beside it. */
export interface LinkItem {
  readonly from_id: string;
  readonly to_id: string;
  readonly relation: "depends_on" | "merged_from" | "contradicts" | "holds_beside";
}

/** The newest first, those that have expired too. */
export interface LinkList {
  readonly links: readonly LinkReply[];
}

/** A link to a chat. Times are Unix milliseconds. */
export interface LinkReply {
  readonly id: string;
  readonly session_id: string;
  readonly title?: string;
  readonly audience: "signed_in" | "anybody";
  readonly live: boolean;
  readonly created_at: number;
  readonly expires_at?: number;
  /** The last time. */
  readonly opened_at?: number;
  readonly openings: number;
}

export interface ListedSession {
  readonly id: string;
  readonly title?: string;
  readonly created_at: number;
  /** When a turn was accepted or ended last. */
  readonly updated_at: number;
  /** seq of the last event; 0 before the first. */
  readonly head: number;
  readonly project_id?: string;
  readonly role_id?: string;
  /** The branch in which turns go on: 0 where there is no other. */
  readonly active_branch: number;
  readonly pinned: boolean;
  readonly archived: boolean;
  /** Who gave it its title; absent where that is the beginning of the first message. */
  readonly title_by?: "user" | "model";
  /** Of the turn that is open; absent: none is. */
  readonly status?: "running" | "awaiting_approval" | "awaiting_tool_result";
  /** What the members of its project may do with it; absent: nothing. */
  readonly shared?: "read" | "write";
  /** The user whose it is; absent: it is yours. */
  readonly shared_by?: string;
  /** The name of the project in which it is shared. */
  readonly shared_in?: string;
  /** What you may do with another's. read: see all of it; write: send, stop, decide, rate; manage: rename, unshare, delete. Absent: it is yours. */
  readonly may?: readonly ("read" | "write" | "manage")[];
  /** Its own; absent: its tenant's holds. */
  readonly retention?: SessionRetention;
  /** true: it is in no list, and ends soon. */
  readonly temporary?: boolean;
  /** With `q`: why it is here. */
  readonly found?: FoundReply;
}

/** A client that is registered at the server's authorization server; what is absent is found out. */
export interface McpOAuthBody {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly issuer?: string;
  readonly scopes?: readonly string[];
}

/** What is filled in when a prompt is used. */
export interface McpPromptArgument {
  readonly name: string;
  readonly description?: string;
  readonly required: boolean;
}

/** A prompt by its server's own name for it. */
export interface McpPromptItem {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments: readonly McpPromptArgument[];
}

/** By server: those that offer prompts, and those that cannot be asked now. */
export interface McpPromptList {
  readonly servers: readonly McpServerPrompts[];
}

/** A server to add, or what becomes of one. Headers and `oauth` that are not named stay as they are, unless it moves to another address. */
export interface McpServerBody {
  /** On the public web, or in GATEWAY_MCP_HOSTS. */
  readonly url: string;
  readonly transport?: "auto" | "http" | "sse";
  /** Sent with every request; no answer shows their values. */
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly oauth?: McpOAuthBody;
  /** Whether its word counts that a tool only reads. */
  readonly trust_hints?: boolean;
  /** Seconds for the answer to one call. */
  readonly timeout?: number;
}

/** The MCP servers, by name. */
export interface McpServerList {
  readonly servers: readonly McpServerRow[];
}

/** The prompts of one MCP server, in its own order. */
export interface McpServerPrompts {
  readonly server: string;
  readonly prompts: readonly McpPromptItem[];
  /** Why they are not known now. */
  readonly error?: string;
}

/** An MCP server, of the settings or added. */
export interface McpServerRow {
  readonly name: string;
  /** Without its query; absent: it is a program that the gateway runs. */
  readonly url?: string;
  readonly transport: "auto" | "http" | "sse";
  /** Names of the headers that are sent to it. */
  readonly headers: readonly string[];
  /** Whether its word counts that a tool only reads. */
  readonly trust_hints: boolean;
  /** It is one of the settings, and is changed there alone. */
  readonly is_fixed: boolean;
  readonly status: "connecting" | "connected" | "failed" | "needs_sign_in";
  /** How many are offered. */
  readonly tools: number;
  /** Why it is not connected. */
  readonly error?: string;
  /** Since when its status is what it is, in Unix milliseconds. */
  readonly since: number;
  /** Whether the gateway can sign in to it. */
  readonly takes_sign_in: boolean;
  /** Whether it is signed in. */
  readonly is_signed_in: boolean;
}

export interface MemberReply {
  readonly user: string;
  /** What stands for them in events of the project's shared sessions (`by`). */
  readonly handle: string;
  readonly role: "owner" | "editor" | "reader";
  readonly added_by: string;
  readonly added_at: number;
}

/** Which memories. With a role, a project or a session: those seen there; else all of yours. */
export interface MemoriesQuery {
  /** You; another user's memories are refused. */
  readonly user_id?: string;
  readonly role_id?: string;
  readonly project_id?: string;
  readonly session_id?: string;
  readonly type?: "preference" | "fact" | "event" | "summary" | "project_decision" | "user_preference" | "discussion_conclusion" | "action_item" | "constraint" | "risk" | "feedback" | "skill" | "reference";
  readonly status?: "active" | "suppressed" | "frozen" | "replaced";
  readonly owner_type?: "user" | "household" | "role" | "project" | "task" | "group" | "session";
  /** With owner_type: of this one alone. */
  readonly owner_id?: string;
  readonly tag?: string;
  /** Whether it waits for a person to confirm it. */
  readonly quarantined?: boolean;
  readonly pinned?: boolean;
  /** Instead: what was deleted, and can be restored or erased. */
  readonly deleted?: boolean;
  /** Words, any of them: one page, the best match first. */
  readonly q?: string;
  readonly limit?: number;
  /** The `next` of the former page. */
  readonly before?: string;
}

/** A memory after a change. */
export interface MemoryChange {
  readonly operation: "remembered" | "updated" | "reinforced" | "suppressed" | "frozen" | "activated" | "replaced" | "merged" | "confirmed" | "flagged" | "deleted" | "restored" | "erased";
  readonly reason: string;
  readonly memory: MemoryItem;
}

/** `memory` is the one that says it from now on, `changed` all that became another. */
export interface MemoryChanges {
  readonly memory: MemoryItem;
  readonly changed: readonly MemoryChange[];
}

/** A memory with where it comes from, and what became of it. */
export interface MemoryDetails {
  readonly id: string;
  readonly type: "preference" | "fact" | "event" | "summary" | "project_decision" | "user_preference" | "discussion_conclusion" | "action_item" | "constraint" | "risk" | "feedback" | "skill" | "reference";
  readonly content: string;
  readonly summary: string;
  readonly owner_type: "user" | "household" | "role" | "project" | "task" | "group" | "session";
  readonly owner_id: string;
  readonly role_id?: string;
  readonly project_id?: string;
  readonly visibility: "private" | "project" | "global";
  readonly status: "active" | "suppressed" | "frozen" | "replaced";
  /** The memory that says it now. */
  readonly superseded_by?: string;
  readonly source: string;
  readonly importance: number;
  readonly confidence: number;
  readonly evidence_count: number;
  readonly tags: readonly string[];
  readonly pinned: boolean;
  /** It may have been planted, and is not recalled before you confirm it. */
  readonly quarantined: boolean;
  /** Who stated it: you, or you confirmed it; the model; a tool; the model after it had read something untrusted (`outside`). */
  readonly origin?: "user" | "confirmed" | "model" | "tool" | "outside";
  /** The tools whose output the model had read when it was saved. */
  readonly tools: readonly string[];
  /** Why it should be looked at again. */
  readonly flagged?: string;
  readonly context?: string;
  readonly decisions: readonly string[];
  readonly refs: readonly string[];
  readonly skill?: string;
  readonly reference?: string;
  /** What the tool that suggested it said of it. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Counts its changes from 1; the ETag. */
  readonly version: number;
  readonly created_at: number;
  readonly updated_at: number;
  /** When it was last cited, or made: its freshness follows from it. */
  readonly last_used: number;
  /** Lists show it masked; reading it by its id shows everything. */
  readonly secret: boolean;
  /** The newest 100, the oldest of them first. */
  readonly versions: readonly VersionItem[];
  /** What you said that it is remembered of; the first 100. */
  readonly evidence: readonly EvidenceItem[];
  /** The first 100. */
  readonly links: readonly LinkItem[];
}

/** A memory. Times are Unix milliseconds. */
export interface MemoryItem {
  readonly id: string;
  readonly type: "preference" | "fact" | "event" | "summary" | "project_decision" | "user_preference" | "discussion_conclusion" | "action_item" | "constraint" | "risk" | "feedback" | "skill" | "reference";
  readonly content: string;
  readonly summary: string;
  readonly owner_type: "user" | "household" | "role" | "project" | "task" | "group" | "session";
  readonly owner_id: string;
  readonly role_id?: string;
  readonly project_id?: string;
  readonly visibility: "private" | "project" | "global";
  readonly status: "active" | "suppressed" | "frozen" | "replaced";
  /** The memory that says it now. */
  readonly superseded_by?: string;
  readonly source: string;
  readonly importance: number;
  readonly confidence: number;
  readonly evidence_count: number;
  readonly tags: readonly string[];
  readonly pinned: boolean;
  /** It may have been planted, and is not recalled before you confirm it. */
  readonly quarantined: boolean;
  /** Who stated it: you, or you confirmed it; the model; a tool; the model after it had read something untrusted (`outside`). */
  readonly origin?: "user" | "confirmed" | "model" | "tool" | "outside";
  /** The tools whose output the model had read when it was saved. */
  readonly tools: readonly string[];
  /** Why it should be looked at again. */
  readonly flagged?: string;
  readonly context?: string;
  readonly decisions: readonly string[];
  readonly refs: readonly string[];
  readonly skill?: string;
  readonly reference?: string;
  /** What the tool that suggested it said of it. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Counts its changes from 1; the ETag. */
  readonly version: number;
  readonly created_at: number;
  readonly updated_at: number;
  /** When it was last cited, or made: its freshness follows from it. */
  readonly last_used: number;
  /** Lists show it masked; reading it by its id shows everything. */
  readonly secret: boolean;
}

export interface MemoryPage {
  readonly memories: readonly MemoryItem[];
  /** Where they were asked for: the last that were deleted, and can be restored or erased. */
  readonly deleted?: readonly DeletedItem[];
  /** Cursor of the next page; absent on the last one. */
  readonly next?: string;
}

/** What changes; the rest stays. */
export interface MemoryPatch {
  readonly content?: string;
  readonly summary?: string;
  readonly type?: "preference" | "fact" | "event" | "summary" | "project_decision" | "user_preference" | "discussion_conclusion" | "action_item" | "constraint" | "risk" | "feedback" | "skill" | "reference";
  readonly visibility?: "private" | "project" | "global";
  readonly importance?: number;
  readonly confidence?: number;
  readonly tags?: readonly string[];
  readonly pinned?: boolean;
  /** null or empty: none any more. */
  readonly context?: string;
  readonly decisions?: readonly string[];
  readonly refs?: readonly string[];
  /** Is kept with the version. */
  readonly reason?: string;
}

/** All that a memory was. */
export interface MemoryVersions {
  readonly id: string;
  /** The newest 100, the oldest of them first. */
  readonly versions: readonly VersionItem[];
  /** Where it was deleted. Unix milliseconds. */
  readonly deleted_at?: number;
  /** Where it was deleted: then it is removed. */
  readonly restorable_until?: number;
}

export interface MergeBody {
  readonly memory_ids: readonly string[];
}

export interface MessageBody {
  readonly role: "user" | "assistant";
  readonly content: string;
}

export interface Messages {
  readonly messages: readonly ModelMessage[];
}

export interface ModelMessage {
  readonly role: "user" | "assistant";
  readonly content: readonly Readonly<Record<string, unknown>>[];
}

export interface ModelUsageReply {
  readonly model: string;
  readonly turns: number;
  readonly usage: Usage;
  /** US dollars of the turns whose price is known; absent: that of none is. */
  readonly cost?: number;
  /** Turns that used tokens of which no price is known. */
  readonly unpriced: number;
}

export interface ModelUsed {
  /** Turns that are over; what is done beside them is none. */
  readonly turns: number;
  /** Those of the prompt cache too. */
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Of what has a known price; absent: nothing of what was used has one. */
  readonly cost?: number;
  /** Turns and calls that used tokens of which no price is known. */
  readonly unpriced: number;
  readonly model: string;
}

/** Which month, and by whose clocks. */
export interface MonthQuery {
  /** As 2026-11; absent: this one. */
  readonly month?: string;
  /** IANA name of the zone whose days count. */
  readonly timezone?: string;
  /** csv: a table by day and model. */
  readonly format?: "json" | "csv";
}

/** A month of a user. What was used beside turns, and in chats that are deleted since, counts to the day of UTC; what else, to the day of `timezone`. */
export interface MonthReply {
  readonly user_id: string;
  readonly month: string;
  readonly timezone: string;
  /** The first month of which something is known. */
  readonly since?: string;
  readonly total: UsedReply;
  /** In their order, those with something. */
  readonly days: readonly DayUsed[];
  /** Those that cost most first. */
  readonly models: readonly ModelUsed[];
  /** The ten that cost most. */
  readonly sessions: readonly SessionUsed[];
  /** In chats that are deleted since; a part of the sums. */
  readonly deleted: UsedReply;
  /** What was done beside turns; a part of the sums. */
  readonly beside: readonly PurposeUsed[];
  /** Those that hold for the user now (GATEWAY_LIMITS); for admins those that count users. */
  readonly limits: readonly LimitReply[];
}

/** A range, by seq or position; absent when nothing of the kind was moved. */
export interface Moved {
  readonly first: number;
  readonly last: number;
}

/** With the key itself: it is shown here alone. */
export interface NewKey {
  readonly id: string;
  readonly tenant: string;
  readonly user_id: string;
  readonly name: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly created_at: number;
  readonly created_by: string;
  readonly expires_at?: number;
  readonly revoked_at?: number;
  /** When it was used last, true to about a minute. */
  readonly used_at?: number;
  readonly key: string;
}

export interface NewLink {
  readonly id: string;
  readonly session_id: string;
  readonly title?: string;
  readonly audience: "signed_in" | "anybody";
  readonly live: boolean;
  readonly created_at: number;
  readonly expires_at?: number;
  /** The last time. */
  readonly opened_at?: number;
  readonly openings: number;
  /** Behind the address of the gateway. It is shown here alone. */
  readonly path: string;
}

export interface NewMemoryBody {
  /** You; another user's memories are refused. */
  readonly user_id?: string;
  /** The role, or interface. */
  readonly role_id?: string;
  readonly project_id?: string;
  /** A session of yours; brings its role and project along where they are absent. */
  readonly session_id?: string;
  /** The task: what is of other tasks is not seen. */
  readonly task_id?: string;
  /** The group: what is of other groups is not seen. */
  readonly group_id?: string;
  /** What to remember, at most 8000 characters. */
  readonly content: string;
  readonly type?: "preference" | "fact" | "event" | "summary" | "project_decision" | "user_preference" | "discussion_conclusion" | "action_item" | "constraint" | "risk" | "feedback" | "skill" | "reference";
  /** Absent: the beginning of the content. */
  readonly summary?: string;
  readonly owner_type?: "user" | "household" | "role" | "project" | "task" | "group" | "session";
  /** Absent: you, your household, or the role, project, session, task or group you ask from. */
  readonly owner_id?: string;
  /** Absent: follows from the owner. */
  readonly visibility?: "private" | "project" | "global";
  readonly importance?: number;
  readonly confidence?: number;
  readonly tags?: readonly string[];
  /** Stands in the prompt before all others, however much is remembered. */
  readonly pinned?: boolean;
  readonly context?: string;
  readonly decisions?: readonly string[];
  /** Where more is to be found: files, addresses, tickets. */
  readonly refs?: readonly string[];
  readonly skill?: string;
  readonly reference?: string;
  readonly evidence?: readonly EvidenceBody[];
  /** Memories of yours that it follows from: when one is corrected, it is flagged. */
  readonly depends_on?: readonly string[];
  readonly reason?: string;
}

/** With the secret that signs its deliveries: it is shown here alone. */
export interface NewWebhook {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly created_at: number;
  /** Since when nothing is posted: as you, or it, asked. */
  readonly disabled_at?: number;
  /** Why it is off, where neither you nor its address asked: `key_revoked`. */
  readonly reason?: string;
  /** In a row, until now. */
  readonly failures: number;
  /** Until when it is left alone after failures. */
  readonly rests_until?: number;
  readonly secret: string;
}

/** Something that was found and not shown, and why; `too_long`: it is shown by its summary alone. */
export interface Omission {
  readonly id: string;
  readonly reason: "budget" | "similar" | "too_long";
}

/** The secret of a link: the last part of its path. */
export interface OpenLinkBody {
  readonly token: string;
}

export interface OwnSavedPromptBody {
  /** prompt: a message, called by its name. persona: instructions for a session. */
  readonly kind?: "prompt" | "persona";
  /** Of a prompt what is typed behind the slash: letters, digits, _ . and -. */
  readonly name: string;
  /** What it is for, in a few words. */
  readonly title?: string;
  /** In a prompt each {{word}} is a field that is filled in when it is used. */
  readonly text: string;
  /** Of a persona: that answers; absent: any. */
  readonly model?: string;
  /** A project for whose members it is, in which you may write; absent: it is yours. */
  readonly project_id?: string;
}

/** Without any of them the answer is the content itself. One alone, but for `lines` beside `search`. */
export interface PartQuery {
  /** Lines from 1, both ends included: 1-50, 50- (as far as fits), 50. */
  readonly lines?: string;
  /** Bytes from 0, both ends included: 0-999, 1000-. Characters are left whole. */
  readonly bytes?: string;
  /** What to select of JSON, by RFC 9535: $.items[0].name. */
  readonly json_path?: string;
  /** Text of one line, in capitals or not: the lines that have it, and those around. */
  readonly search?: string;
  /** Of the part, estimated: from 500 to 4000, which is the default. */
  readonly max_tokens?: number;
}

/** What stands in a block: a component, the skills, or what is the session's alone. */
export interface PartReport {
  readonly name: string;
  /** SHA-256 of the text before it was cut, in hex. */
  readonly digest: string;
  /** Estimated size in the prompt. */
  readonly tokens: number;
  /** Estimated size before it was cut. */
  readonly tokens_before: number;
  readonly truncated: boolean;
}

/** A part of a text: `hit` where it is one that was looked for. */
export interface PieceReply {
  readonly text: string;
  readonly hit: boolean;
}

/** For which turn; without a session, the first of a new one. */
export interface PreviewQuery {
  /** The next turn of this session. */
  readonly session_id?: string;
  /** Of a new session. */
  readonly role_id?: string;
  /** Of a new session. */
  readonly project_id?: string;
  /** Shows what the memory would add to this message. */
  readonly message?: string;
  /** Shows the prompt with these instructions of a client application. */
  readonly instructions?: string;
}

/** One failure. `code` is for machines, `message` for people. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface ProblemReply {
  readonly error: Problem;
  readonly request_id: string;
}

/** The whole profile: what is not in it is gone. */
export interface ProfileBody {
  readonly fields: Readonly<Record<string, string>>;
}

export interface ProfileList {
  readonly profiles: readonly ProfileReply[];
}

export interface ProfileReply {
  readonly kind: "user" | "household";
  readonly id: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly version: number;
  readonly updated_at?: number;
  readonly actor?: string;
}

/** A project to make. You are its first owner. */
export interface ProjectBody {
  readonly name: string;
  /** Without effect. It is taken from clients of earlier versions. */
  readonly kind?: "project" | "household";
}

/** What changes of a project; what is absent stays. */
export interface ProjectChanges {
  readonly name?: string;
  /** With which sessions begin that are made in it without any of their own. Empty: none. */
  readonly instructions?: string;
}

/** With all its members, those that were added first in front. */
export interface ProjectDetails {
  readonly id: string;
  /** Of all. Clients of earlier versions read it. */
  readonly kind: "project";
  readonly name: string;
  /** Yours. */
  readonly role: "owner" | "editor" | "reader";
  /** The user who made it. */
  readonly created_by: string;
  readonly created_at: number;
  /** With which sessions begin that are made in it; absent: with none. */
  readonly instructions?: string;
  readonly members: readonly MemberReply[];
  /** Who has not answered yet, the oldest first. */
  readonly invited: readonly InvitedReply[];
}

/** In the order that you gave them, then the oldest first. */
export interface ProjectList {
  readonly projects: readonly ProjectReply[];
}

/** Your projects in the order of your list. */
export interface ProjectOrder {
  /** Their ids; others come behind them. */
  readonly projects: readonly string[];
}

/** A project that you are in. */
export interface ProjectReply {
  readonly id: string;
  /** Of all. Clients of earlier versions read it. */
  readonly kind: "project";
  readonly name: string;
  /** Yours. */
  readonly role: "owner" | "editor" | "reader";
  /** The user who made it. */
  readonly created_by: string;
  readonly created_at: number;
  /** With which sessions begin that are made in it; absent: with none. */
  readonly instructions?: string;
}

/** The assembled prompt by layer, and the names of its tools. */
export interface PromptPreview {
  readonly layers: readonly LayerText[];
  /** What the memory would add to the message that was given, at its end. */
  readonly retrieved?: string;
  readonly tools: readonly string[];
  /** Estimated size of the tools' descriptions and schemas. */
  readonly tool_tokens: number;
  /** Tools that the model is not told of. */
  readonly left_out: readonly LeftOutTool[];
  /** Form of the prompt and the tools. */
  readonly profile: "full" | "small";
  readonly tokens: number;
  readonly prefix_hash: string;
  readonly warnings: readonly string[];
}

/** All components in their order. */
export interface PromptReport {
  readonly components: readonly ComponentReport[];
  /** Form of the prompt: `small` has the short variants. */
  readonly profile: "full" | "small";
  readonly tokens: number;
  readonly prefix_hash: string;
  readonly warnings: readonly string[];
}

/** The newest first. */
export interface PromptVersionList {
  readonly versions: readonly PromptVersionReply[];
  /** Absent on the last page. */
  readonly next?: number;
}

export interface PromptVersionReply {
  readonly number: number;
  /** Absent: the file holds from then on. */
  readonly text?: string;
  /** SHA-256 of the text, in hex. */
  readonly digest?: string;
  readonly note: string;
  readonly changed_by: string;
  /** Unix milliseconds. */
  readonly changed_at: number;
}

/** A key of the model's provider. It is stored encrypted, and nobody is shown it again. */
export interface ProviderKeyBody {
  readonly key: string;
}

/** Whether there is a key, and whose serves your calls of the model. */
export interface ProviderKeyReply {
  readonly is_set: boolean;
  /** Its last four characters, of a key with 16 at least. */
  readonly ending?: string;
  /** Unix milliseconds. */
  readonly set_at?: number;
  /** Whose key your calls of the model are made with; absent: nobody's, they are refused. */
  readonly serving?: "user" | "tenant" | "gateway";
  /** Whether a key can be set here. */
  readonly accepted: boolean;
}

export interface PurposeUsed {
  /** Turns that are over; what is done beside them is none. */
  readonly turns: number;
  /** Those of the prompt cache too. */
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Of what has a known price; absent: nothing of what was used has one. */
  readonly cost?: number;
  /** Turns and calls that used tokens of which no price is known. */
  readonly unpriced: number;
  /** compression, summary, memory, memory_control, artifact_summary or title. */
  readonly purpose: string;
}

export interface RefusedLine {
  /** From 1. */
  readonly line: number;
  readonly reason: string;
}

export interface RefusedSession {
  /** Its place in the file, from 1. */
  readonly number: number;
  readonly code: string;
  readonly message: string;
}

/** How a message that is asked anew is treated. */
export interface RegenerateBody {
  /** Repeating a request with the same id returns the same turn. */
  readonly client_message_id?: string;
  /** What to do when another turn of the session runs. */
  readonly on_conflict?: "reject" | "queue" | "interrupt";
  /** What to do when the connection of this stream ends before `done`. release: the turn is cancelled unless somebody reads it again within 15 seconds. */
  readonly on_disconnect?: "continue" | "release";
  /** One of the allowed models. */
  readonly model?: string;
}

export interface ReleaseBody {
  /** So long may nobody read the turn. */
  readonly grace_seconds?: number;
}

/** What to try again. */
export interface ReplayBody {
  /** One that ended; absent: all that are dead. */
  readonly delivery?: string;
}

export interface ReplayQuery {
  /** 1 is the original timing, 10 ten times as fast, max without waiting. */
  readonly speed?: string;
  /** seq of the first event. */
  readonly from?: number;
  /** seq of the last event; absent: the session's last one now. */
  readonly to?: number;
  /** Only the turns of that branch; absent: all. */
  readonly branch?: number;
  /** Longest wait between two events, in seconds. */
  readonly pause?: number;
}

/** How many deliveries are tried again. */
export interface Replayed {
  readonly replayed: number;
}

/** How many replicas of one database live, this one among them, and in what they `differ`: `version`, `schema` (the newest that each knows), `lease`, `prompts`, `skills`, and settings by name, as `GATEWAY_MODEL`. While one version takes the place of another they do. Each judges the others by its own lease: `GATEWAY_LEASE` must be the same on all. */
export interface ReplicasSeen {
  readonly alive: number;
  readonly differ: readonly string[];
}

/** The version to which a memory is brought back. */
export interface RestoreBody {
  /** One of its `versions`. Absent: what it was when it was deleted. */
  readonly to_version?: number;
}

/** A rule; what is absent follows the settings archive_after and delete_after. */
export interface RetentionBody {
  /** Days without use until rows move to the archive; 0: never. */
  readonly archive_days?: number;
  /** Days without use until it is deleted; 0: never. */
  readonly delete_days?: number;
  /** Sessions have none of their own; those that they had do not count. */
  readonly fixed?: boolean;
  /** Absent: yours. Others need an admin of default. */
  readonly tenant?: string;
}

/** What retention would do now, and nothing was done. */
export interface RetentionPreview {
  /** Sessions that would be deleted. */
  readonly deleted: number;
  /** Sessions that would be archived. */
  readonly archived: number;
  /** Sessions that would be deleted but for a legal hold. */
  readonly held: number;
  /** The first of them, at most 1,000. */
  readonly sessions: readonly DueReply[];
}

export interface RetentionQuery {
  /** Absent: yours. Others need an admin of default. */
  readonly tenant?: string;
}

/** A tenant's rule, and in seconds what holds where it says nothing. */
export interface RetentionReply {
  readonly tenant: string;
  readonly archive_days?: number;
  readonly delete_days?: number;
  readonly fixed: boolean;
  readonly changed_by?: string;
  readonly changed_at?: number;
  /** The setting; absent: never. */
  readonly archive_after?: number;
  /** The setting; absent: never. */
  readonly delete_after?: number;
}

/** A query, or the ids of memories whose details are wanted. */
export interface RetrieveBody {
  /** You; another user's memories are refused. */
  readonly user_id?: string;
  /** The role, or interface. */
  readonly role_id?: string;
  readonly project_id?: string;
  /** A session of yours; brings its role and project along where they are absent. */
  readonly session_id?: string;
  /** The task: what is of other tasks is not seen. */
  readonly task_id?: string;
  /** The group: what is of other groups is not seen. */
  readonly group_id?: string;
  /** A message, a question or words. */
  readonly query?: string;
  /** Instead of a query: everything about these, as far as they are there. */
  readonly memory_ids?: readonly string[];
  readonly mode?: "catalog" | "details";
  /** The same as mode. */
  readonly retrieval_mode?: "catalog" | "details";
  /** None: all of them. */
  readonly memory_types?: readonly ("preference" | "fact" | "event" | "summary" | "project_decision" | "user_preference" | "discussion_conclusion" | "action_item" | "constraint" | "risk" | "feedback" | "skill" | "reference")[];
  /** When they were last changed. */
  readonly time_range?: "last_7_days" | "last_30_days" | "all";
  readonly limit?: number;
  /** Most tokens (estimated) of what is found, in that mode. */
  readonly budget_tokens?: number;
}

/** The best first. `omitted` were found and left out: the first of them, and why; there are `omitted_count`. */
export interface Retrieved {
  readonly mode: "catalog" | "details";
  readonly results: readonly RetrievedMemory[];
  readonly omitted: readonly Omission[];
  readonly omitted_count: number;
  readonly tokens: number;
  /** The search by meaning did not work: found by words alone. */
  readonly degraded: boolean;
}

/** A memory that fits. `context` and what follows it is there in mode details, as far as there is room for all of it. */
export interface RetrievedMemory {
  readonly id: string;
  readonly summary: string;
  readonly type: "preference" | "fact" | "event" | "summary" | "project_decision" | "user_preference" | "discussion_conclusion" | "action_item" | "constraint" | "risk" | "feedback" | "skill" | "reference";
  readonly importance: number;
  readonly tags: readonly string[];
  /** Comparable within one answer; 0 when asked for by id. */
  readonly score: number;
  /** Its place by words. */
  readonly lexical_rank?: number;
  /** Its place by meaning. */
  readonly vector_rank?: number;
  readonly freshness: number;
  /** Unix milliseconds, as is updated_at. */
  readonly created_at: number;
  readonly updated_at: number;
  /** In mode details, of a memory too long for its room: what of it fits the query. */
  readonly passage?: string;
  readonly content?: string;
  readonly context?: string;
  readonly decisions?: readonly string[];
  readonly refs?: readonly string[];
  readonly evidence?: readonly EvidenceItem[];
}

export interface RoleBody {
  readonly role: "owner" | "editor" | "reader";
}

/** Where to go on. */
export interface RotateBody {
  /** That of the answer before; absent: from the start. */
  readonly after?: string;
}

/** What this slice came to. */
export interface RotationReply {
  /** Secrets that were encrypted anew with the first key. */
  readonly rows: number;
  /** Memories that were not encrypted before. */
  readonly memories: number;
  /** Artifacts and archives that were encrypted anew. */
  readonly blobs: number;
  /** Those that no key opens; the log names blobs. */
  readonly unreadable: number;
  /** For the next slice; absent: this was the last. */
  readonly after?: string;
}

/** A text to keep for use. */
export interface SavedPromptBody {
  /** prompt: a message, called by its name. persona: instructions for a session. */
  readonly kind?: "prompt" | "persona";
  /** Of a prompt what is typed behind the slash: letters, digits, _ . and -. */
  readonly name: string;
  /** What it is for, in a few words. */
  readonly title?: string;
  /** In a prompt each {{word}} is a field that is filled in when it is used. */
  readonly text: string;
  /** Of a persona: that answers; absent: any. */
  readonly model?: string;
}

/** What changes of it; what is absent stays. */
export interface SavedPromptEdits {
  readonly name?: string;
  /** Empty: none. */
  readonly title?: string;
  readonly text?: string;
  /** Empty: any. */
  readonly model?: string;
}

/** Yours, then those of your projects, then your tenant's; each by name. */
export interface SavedPromptList {
  readonly saved_prompts: readonly SavedPromptReply[];
}

/** Times are Unix milliseconds. */
export interface SavedPromptReply {
  readonly id: string;
  readonly kind: "prompt" | "persona";
  readonly name: string;
  readonly title?: string;
  readonly text: string;
  readonly model?: string;
  /** For whose members it is. */
  readonly project_id?: string;
  /** Whether it is for all users of your tenant. */
  readonly for_all: boolean;
  /** The user who made it. */
  readonly created_by: string;
  readonly created_at: number;
  readonly updated_at: number;
}

/** What is sent, and when: one of `at`, `every` and `cron`. */
export interface ScheduleBody {
  /** Once, at this date and time (ISO 8601): by the clocks of the time zone, unless it has an offset. With `every` the first time. */
  readonly at?: string;
  /** Again and again: seconds between two times. */
  readonly every?: number;
  /** Five fields: minute, hour, day of month, month, day of week. */
  readonly cron?: string;
  /** IANA name of the zone whose clocks count. */
  readonly timezone?: string;
  /** The user's message. */
  readonly message: string;
  /** Where it is sent. Absent: to a new session each time. */
  readonly session_id?: string;
  /** Absent: the beginning of the message. */
  readonly name?: string;
  /** What becomes of times that passed while nothing could run: none of them runs, one run stands for all, or each runs that is not older than a day. */
  readonly late?: "skip" | "once" | "all";
  /** Where results are delivered beside the session, KIND:ADDRESS, of the kinds that this gateway has. */
  readonly destination?: string;
}

export interface ScheduleChanges {
  readonly status: "active" | "paused";
}

export interface ScheduleDetails {
  readonly id: string;
  readonly name: string;
  readonly message: string;
  /** Absent: a new session each time. */
  readonly session_id?: string;
  readonly at?: number;
  readonly every?: number;
  readonly cron?: string;
  readonly timezone: string;
  readonly late: "skip" | "once" | "all";
  /** ended: it has no further time. */
  readonly status: "active" | "paused" | "ended";
  /** Why the gateway paused it: a code or a sentence. */
  readonly reason?: string;
  /** The next time. */
  readonly due_at?: number;
  readonly destination?: string;
  readonly created_at: number;
  /** The next times, at most 5. */
  readonly upcoming: readonly number[];
  /** The last 20, the newest first. */
  readonly runs: readonly ScheduleRunReply[];
}

/** The caller's, the newest first. */
export interface ScheduleList {
  readonly schedules: readonly ScheduleReply[];
}

/** When such a schedule would be due. */
export interface SchedulePreview {
  /** The first times, at most 5. */
  readonly upcoming: readonly number[];
}

/** A message that is sent at set times. */
export interface ScheduleReply {
  readonly id: string;
  readonly name: string;
  readonly message: string;
  /** Absent: a new session each time. */
  readonly session_id?: string;
  readonly at?: number;
  readonly every?: number;
  readonly cron?: string;
  readonly timezone: string;
  readonly late: "skip" | "once" | "all";
  /** ended: it has no further time. */
  readonly status: "active" | "paused" | "ended";
  /** Why the gateway paused it: a code or a sentence. */
  readonly reason?: string;
  /** The next time. */
  readonly due_at?: number;
  readonly destination?: string;
  readonly created_at: number;
}

/** What became of one of its times. `started`: the turn is under way. */
export interface ScheduleRunReply {
  readonly due_at: number;
  readonly status: "started" | "missed" | "refused" | "deleted" | "completed" | "failed" | "cancelled" | "limit_reached" | "interrupted";
  /** When the turn was accepted, or was not. */
  readonly at: number;
  readonly session_id?: string;
  readonly turn_id?: string;
  /** Why there was no turn. */
  readonly code?: string;
}

/** A message that was said elsewhere. */
export interface SeedBody {
  readonly role: "user" | "assistant";
  /** Of a message of the user. */
  readonly attachments?: readonly AttachmentBody[];
  /** What was said. It may be empty where files came with it. */
  readonly content: string;
}

/** A block of a message: its type, its size, and the beginning of its text. */
export interface SentBlock {
  readonly type: string;
  readonly tokens: number;
  /** Of the tool that is called. */
  readonly name?: string;
  readonly text: string;
}

export interface SentMessage {
  readonly role: "user" | "assistant";
  readonly tokens: number;
  readonly blocks: readonly SentBlock[];
}

/** A part of the system prompt as it is now, beside what was sent. */
export interface SentPart {
  readonly name: string;
  /** SHA-256 of the text before it was cut, in hex. */
  readonly digest: string;
  /** Estimated size in the prompt. */
  readonly tokens: number;
  /** Estimated size before it was cut. */
  readonly tokens_before: number;
  readonly truncated: boolean;
  readonly layer: "SYSTEM" | "MEMORY" | "USER" | "TOOL INSTRUCTIONS" | "CLIENT";
  /** Whether it is the one that was sent; absent: nobody can tell. */
  readonly same?: boolean;
  /** As it was sent; absent where `same` is not true. */
  readonly text?: string;
}

/** Sizes are estimated tokens; what the endpoint counted is in the turn's `iteration_end` events. */
export interface SentPrompt {
  readonly session_id: string;
  readonly turn_id: string;
  readonly model: string;
  /** Tokens that the model can read at once. */
  readonly window: number;
  /** From so many on the history is compressed; absent: never. */
  readonly compress_at?: number;
  /** Of its last model call; absent: the model was not asked. */
  readonly prefix_hash?: string;
  /** All before the messages is the same now, byte for byte. */
  readonly exact: boolean;
  readonly parts: readonly SentPart[];
  /** Components that are not there any more, with their digests. */
  readonly gone: Readonly<Record<string, string>>;
  /** Those that would be offered now; as sent where `exact`. */
  readonly tools: readonly SentTool[];
  /** Of the summary in the place of compressed messages. */
  readonly summary_tokens: number;
  readonly earlier_messages: number;
  readonly earlier_tokens: number;
  /** Of the turn itself, as far as they were sent; absent once they are compressed. */
  readonly messages?: readonly SentMessage[];
}

export interface SentTool {
  readonly name: string;
  /** Estimated size of its description and schema. */
  readonly tokens: number;
}

/** One process of the gateway, and what it runs on. Sizes are in bytes. */
export interface ServerReply {
  readonly health: Health;
  readonly python: string;
  readonly engine: "sqlite" | "postgresql";
  /** Unix milliseconds. */
  readonly started_at: number;
  /** What the database takes, by part. */
  readonly sizes: Readonly<Record<string, number>>;
  readonly disk: DiskSpace;
}

export interface Session {
  readonly id: string;
  readonly title?: string;
  readonly created_at: number;
  /** When a turn was accepted or ended last. */
  readonly updated_at: number;
  /** seq of the last event; 0 before the first. */
  readonly head: number;
  readonly project_id?: string;
  readonly role_id?: string;
  /** The branch in which turns go on: 0 where there is no other. */
  readonly active_branch: number;
  readonly pinned: boolean;
  readonly archived: boolean;
  /** Who gave it its title; absent where that is the beginning of the first message. */
  readonly title_by?: "user" | "model";
  /** Of the turn that is open; absent: none is. */
  readonly status?: "running" | "awaiting_approval" | "awaiting_tool_result";
  /** What the members of its project may do with it; absent: nothing. */
  readonly shared?: "read" | "write";
  /** The user whose it is; absent: it is yours. */
  readonly shared_by?: string;
  /** The name of the project in which it is shared. */
  readonly shared_in?: string;
  /** What you may do with another's. read: see all of it; write: send, stop, decide, rate; manage: rename, unshare, delete. Absent: it is yours. */
  readonly may?: readonly ("read" | "write" | "manage")[];
  /** Its own; absent: its tenant's holds. */
  readonly retention?: SessionRetention;
  /** true: it is in no list, and ends soon. */
  readonly temporary?: boolean;
}

export interface SessionBody {
  /** What you call it; absent: only by the id that it gets. */
  readonly id?: string;
  readonly title?: string;
  /** Sessions of a project, in one role, know of each other's summaries. */
  readonly project_id?: string;
  /** The role, or interface, that it is in. */
  readonly role_id?: string;
  /** For its turns. Absent: those of its project. Empty: none. */
  readonly instructions?: string;
  /** In no list and no search, without memories in it and without any from it; deleted after a day without use (GATEWAY_DELETE_TEMPORARY_AFTER). */
  readonly temporary?: boolean;
  /** A history that it begins with, the user's message first. Each message of the user is a turn then, marked as seeded, with the answers up to the next one; its tokens are unknown. */
  readonly messages?: readonly SeedBody[];
}

/** What changes of a session; what is absent stays. */
export interface SessionChanges {
  readonly title?: string;
  readonly pinned?: boolean;
  /** Listed only where archived ones are asked for. */
  readonly archived?: boolean;
  /** A project of yours to move it into; nobody else sees it. Empty: into none. */
  readonly project_id?: string;
  /** read: the members of its project see all of it. none: nobody else does. */
  readonly shared?: "read" | "write" | "none";
  /** Its own, in place of the one that it had; {}: its tenant's holds again. */
  readonly retention?: SessionRetentionBody;
  /** From its next turn on. Empty: none. */
  readonly instructions?: string;
}

/** One session, and what became of its history. */
export interface SessionDetails {
  readonly id: string;
  readonly title?: string;
  readonly created_at: number;
  /** When a turn was accepted or ended last. */
  readonly updated_at: number;
  /** seq of the last event; 0 before the first. */
  readonly head: number;
  readonly project_id?: string;
  readonly role_id?: string;
  /** The branch in which turns go on: 0 where there is no other. */
  readonly active_branch: number;
  readonly pinned: boolean;
  readonly archived: boolean;
  /** Who gave it its title; absent where that is the beginning of the first message. */
  readonly title_by?: "user" | "model";
  /** Of the turn that is open; absent: none is. */
  readonly status?: "running" | "awaiting_approval" | "awaiting_tool_result";
  /** What the members of its project may do with it; absent: nothing. */
  readonly shared?: "read" | "write";
  /** The user whose it is; absent: it is yours. */
  readonly shared_by?: string;
  /** The name of the project in which it is shared. */
  readonly shared_in?: string;
  /** What you may do with another's. read: see all of it; write: send, stop, decide, rate; manage: rename, unshare, delete. Absent: it is yours. */
  readonly may?: readonly ("read" | "write" | "manage")[];
  /** Its own; absent: its tenant's holds. */
  readonly retention?: SessionRetention;
  /** true: it is in no list, and ends soon. */
  readonly temporary?: boolean;
  /** The summary that is in force, as the model reads it. */
  readonly compressed_context?: string;
  /** How many versions the one in force is made of. */
  readonly compressed_rounds: number;
  readonly last_compressed_at?: number;
  /** Yours or the client application's, as its next turn has them. */
  readonly instructions?: string;
  /** Summaries of former sessions in its first turn, as the model reads them. */
  readonly carried_context?: string;
  /** Every version there is; any can be activated. */
  readonly versions: readonly number[];
}

/** The session whose log gets an event of the change. */
export interface SessionLogQuery {
  /** A session of yours, whose log gets the change as an event `memory`. */
  readonly session_id?: string;
}

export interface SessionPage {
  readonly sessions: readonly ListedSession[];
  /** Cursor of the next page; absent on the last one. */
  readonly next?: string;
}

/** Days without use; 0: never. What is absent follows the tenant's rule. */
export interface SessionRetention {
  readonly archive_days?: number;
  readonly delete_days?: number;
}

/** Days without use, counted from the last turn; 0: never. What is absent follows the tenant's rule. */
export interface SessionRetentionBody {
  readonly archive_days?: number;
  readonly delete_days?: number;
}

export interface SessionUsed {
  /** Turns that are over; what is done beside them is none. */
  readonly turns: number;
  /** Those of the prompt cache too. */
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Of what has a known price; absent: nothing of what was used has one. */
  readonly cost?: number;
  /** Turns and calls that used tokens of which no price is known. */
  readonly unpriced: number;
  readonly session_id: string;
  /** Absent: it has none, or the chat is another user's. */
  readonly title?: string;
  readonly is_own: boolean;
}

export interface SessionsQuery {
  readonly limit?: number;
  /** The `next` of the former page. */
  readonly before?: string;
  /** Words in the title or in one turn, all of them. */
  readonly q?: string;
  /** Where `q` looks; absent: in both. */
  readonly found_in?: "title" | "messages";
  /** Only those used at this time or later, Unix milliseconds. */
  readonly used_after?: number;
  /** Only those last used before this time, Unix milliseconds. */
  readonly used_before?: number;
  /** Only those that are pinned, or are not. */
  readonly pinned?: boolean;
  /** true: only the archived ones. */
  readonly archived?: "false" | "true" | "all";
  /** The last used first, or the last made. */
  readonly order?: "updated" | "created";
  /** Only those of that project, also what its members share with you. */
  readonly project_id?: string;
  /** others: what is shared with you in any of your projects. Absent: mine, and with `project_id` all. */
  readonly whose?: "mine" | "others" | "all";
}

/** What the calls of one purpose beside turns used. Cost is in US dollars. */
export interface SideUsageReply {
  /** compression, summary, memory, memory_control, artifact_summary or title. */
  readonly purpose: string;
  readonly model: string;
  readonly calls: number;
  /** Those of the prompt cache too. */
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Of the calls whose price is known. */
  readonly cost: number;
  /** Calls of which no price is known. */
  readonly unpriced: number;
}

/** Where to go then. */
export interface SignInQuery {
  /** A path of the page. */
  readonly to?: string;
}

/** The server that the gateway is signed in to now. */
export interface SignedInMcpServer {
  readonly name: string;
}

/** Where the browser goes now. */
export interface SignedOut {
  /** The identity provider's page to sign out there too, or our own. */
  readonly url: string;
}

/** The catalog. `warnings` name conflicts and files that cannot be used. */
export interface SkillList {
  readonly skills: readonly SkillRow[];
  readonly warnings: readonly string[];
}

/** A skill of the catalog. */
export interface SkillRow {
  readonly name: string;
  readonly type: "function" | "markdown" | "mcp";
  readonly description: string;
  /** Relative to its source. */
  readonly location: string;
  /** project, user or bundled; a Python module or `built-in`; an MCP server's name. */
  readonly source: string;
  readonly enabled: boolean;
  /** parameters, category, examples and more, as far as known. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Which skills. */
export interface SkillsQuery {
  readonly type?: "function" | "markdown" | "mcp";
}

export interface SnapshotReply {
  readonly messages: readonly ModelMessage[];
  readonly open_turn?: Turn;
  /** Follow the events after this one. */
  readonly as_of_seq: number;
}

/** What was said in all of your sessions, in bytes. */
export interface StoredSessions {
  readonly used: number;
  readonly quota: number;
}

export interface SummariesQuery {
  /** Yours; another user's are refused. */
  readonly user_id?: string;
  /** Only sessions of this project. */
  readonly project_id?: string;
  /** Only sessions in this role. */
  readonly role_id?: string;
  readonly limit?: number;
}

export interface SummariesReply {
  readonly summaries: readonly Summary[];
}

/** The newest summary of a session, made when its last message was `to_position`. */
export interface Summary {
  readonly session_id: string;
  readonly title?: string;
  readonly project_id?: string;
  readonly to_position: number;
  /** goal, constraints, decisions, progress, artifacts, next_actions, risks, open_questions, trajectory_start, trajectory_end, facts, identifiers. */
  readonly summary: Readonly<Record<string, unknown>>;
  readonly trigger: "manual" | "idle" | "archive";
  readonly model: string;
  readonly prompt_digest: string;
  readonly usage?: Usage;
  /** US dollars. Absent means unknown. */
  readonly cost?: number;
  readonly created_at: number;
  /** As the request gave it, as trajectory_end. */
  readonly trajectory_start?: number;
  readonly trajectory_end?: number;
}

/** A session of yours, or a conversation: its messages, and what was done in it. */
export interface SummaryBody {
  /** With messages: the session that the summary is of; made if it does not exist. */
  readonly session_id?: string;
  /** You; for another user nothing is summarised. */
  readonly user_id?: string;
  /** With messages: the project of a new session. */
  readonly project_id?: string;
  /** With messages: the role of a new session. */
  readonly role_id?: string;
  /** Absent: those of the session. */
  readonly messages?: readonly MessageBody[] | string;
  /** With messages: the steps that were taken, as a text or as JSON. */
  readonly trajectory?: string | readonly (string | Readonly<Record<string, unknown>>)[] | Readonly<Record<string, unknown>>;
  /** The index of the first message, as your client counts: given back. */
  readonly trajectory_start?: number;
  /** The index of the last one: given back. */
  readonly trajectory_end?: number;
}

/** Whether a skill is offered to the model. */
export interface SwitchBody {
  readonly enabled: boolean;
}

export interface TenantQuery {
  /** The user's; absent: yours. Others need an admin of default. */
  readonly tenant?: string;
}

export interface TextBlock {
  readonly type: "text";
  readonly text: string;
}

/** When it is sent: one of `at`, `every` and `cron`. */
export interface TimingBody {
  /** Once, at this date and time (ISO 8601): by the clocks of the time zone, unless it has an offset. With `every` the first time. */
  readonly at?: string;
  /** Again and again: seconds between two times. */
  readonly every?: number;
  /** Five fields: minute, hour, day of month, month, day of week. */
  readonly cron?: string;
  /** IANA name of the zone whose clocks count. */
  readonly timezone?: string;
}

/** A number of tokens, and who says it: `setting`, the `endpoint`, the `price_list` that comes with the gateway, or nobody (`assumed`). */
export interface TokenLimit {
  readonly tokens: number;
  readonly source: "setting" | "endpoint" | "price_list" | "assumed";
}

/** A tool that may run without asking. */
export interface ToolGrant {
  readonly tool: string;
  /** Absent: in all of the caller's sessions. */
  readonly session_id?: string;
  readonly granted_at: number;
}

export interface ToolResultBody {
  readonly content: string | readonly (TextBlock | FileBlock)[];
  /** The call failed; the content says why. */
  readonly is_error?: boolean;
}

/** A call that the client runs. */
export interface ToolResultReply {
  readonly session_id: string;
  readonly turn_id: string;
  readonly tool_call_id: string;
  readonly name: string;
  readonly requested_at: number;
  readonly expires_at: number;
  /** Absent without a result. */
  readonly status?: "ok" | "error" | "timeout";
  readonly answered_at?: number;
}

export interface Turn {
  readonly turn_id: string;
  readonly session_id: string;
  readonly status: "accepted" | "running" | "awaiting_approval" | "awaiting_tool_result" | "done";
  readonly outcome?: string;
  readonly model: string;
  readonly client_message_id?: string;
  /** SHA-256 in hex of the client's instructions that it has, cleaned. */
  readonly instructions?: string;
  readonly cancel_requested?: boolean;
  readonly created_at: number;
  readonly ended_at?: number;
  readonly first_seq?: number;
  /** Of its last event, while it runs of the newest. */
  readonly last_seq?: number;
  /** Model calls; like usage and cost once it is done. */
  readonly iterations?: number;
  readonly usage?: Usage;
  /** US dollars; absent where a price is unknown. */
  readonly cost?: number;
  /** Its branch; absent while it waits. */
  readonly branch?: number;
  /** What it was asked after, a turn or `root`; absent where that is the one before it. */
  readonly parent_turn_id?: string;
  /** Of a turn that did not run here. seeded: a client brought it along when the session was made; imported: it was in a file. */
  readonly origin?: "seeded" | "imported";
  /** What its owner thinks of it. */
  readonly feedback?: FeedbackReply;
}

/** A message, and how it is treated. */
export interface TurnOptions {
  /** Repeating a request with the same id returns the same turn. */
  readonly client_message_id?: string;
  /** What to do when another turn of the session runs. */
  readonly on_conflict?: "reject" | "queue" | "interrupt";
  /** What to do when the connection of this stream ends before `done`. release: the turn is cancelled unless somebody reads it again within 15 seconds. */
  readonly on_disconnect?: "continue" | "release";
  /** One of the allowed models. */
  readonly model?: string;
  /** Files that the message brings along. */
  readonly attachments?: readonly AttachmentBody[];
  /** The user's message. It may be empty where files come with it. */
  readonly message: string;
  /** The turn after which this one comes, in a new branch where others do already; `root`: before all turns. Absent: the last one of the active branch. */
  readonly parent_turn_id?: string;
  /** Tools that you run yourself, beside those of the gateway, in this turn. */
  readonly tools?: readonly ClientToolBody[];
  /** What the client application tells the model, from this turn on, below the gateway's own prompt: at most 131072 characters. Absent: those of the turn before stay. Empty: none. */
  readonly instructions?: string;
}

export interface TurnPage {
  readonly turns: readonly Turn[];
  /** Cursor of the next page; absent on the last one. */
  readonly next?: string;
}

export interface TurnsQuery {
  /** Only turns of that status or, of those that are done, with that outcome. */
  readonly status?: "accepted" | "running" | "awaiting_approval" | "awaiting_tool_result" | "done" | "completed" | "failed" | "cancelled" | "limit_reached" | "interrupted";
  readonly limit?: number;
  /** The `next` of the former page. */
  readonly before?: string;
}

/** Of a body that is the content itself. */
export interface UploadQuery {
  /** A session of yours that it belongs to, and that keeps it. */
  readonly session_id?: string;
  /** You; for another user nothing is kept. */
  readonly user_id?: string;
  /** Absent: the session's. */
  readonly project_id?: string;
  /** The call that it is a result of. */
  readonly tool_call_id?: string;
  /** When it may go: Unix milliseconds or seconds, or a date in ISO 8601. At the latest, and where it is absent, that is GATEWAY_ARTIFACT_TTL from now. */
  readonly expires_at?: number | string;
  readonly name?: string;
  /** 1: a body of application/json is the content itself, too. */
  readonly raw?: "0" | "1";
}

/** Tokens of one or several model calls, as the endpoint counts them: `input_tokens` excludes what was read from or written to the prompt cache (Anthropic Messages API, "usage"). */
export interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation_input_tokens: number;
}

export interface UsageQuery {
  /** Turns that were accepted so many days ago, or later. */
  readonly days?: number;
}

export interface UsageReply {
  readonly since: number;
  readonly models: readonly ModelUsageReply[];
  /** What was asked of models for you beside the answers of turns: by days of UTC. */
  readonly beside: readonly SideUsageReply[];
  readonly sessions: StoredSessions;
  /** Those that hold for you (GATEWAY_LIMITS). */
  readonly limits: readonly LimitReply[];
}

/** What was used. Cost is in US dollars. */
export interface UsedReply {
  /** Turns that are over; what is done beside them is none. */
  readonly turns: number;
  /** Those of the prompt cache too. */
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Of what has a known price; absent: nothing of what was used has one. */
  readonly cost?: number;
  /** Turns and calls that used tokens of which no price is known. */
  readonly unpriced: number;
}

/** Users in the order of their ids, with what they used in the month. */
export interface UserList {
  readonly month: string;
  readonly users: readonly UserRow[];
  /** Cursor of the next page; absent on the last one. */
  readonly next?: string;
}

export interface UserMonthQuery {
  /** As 2026-11; absent: this one. */
  readonly month?: string;
  /** IANA name of the zone whose days count. */
  readonly timezone?: string;
  /** csv: a table by day and model. */
  readonly format?: "json" | "csv";
  /** The user's; absent: yours. Others need an admin of default. */
  readonly tenant?: string;
}

/** A user of whom something is stored, or whom the settings name. */
export interface UserRow {
  readonly user_id: string;
  readonly tenant: string;
  readonly user: string;
  /** Of keys that hold, of sign-ins, and of the settings. */
  readonly roles: readonly string[];
  /** Stored keys that hold. */
  readonly keys: number;
  /** Unix milliseconds; absent: never, as far as is known. */
  readonly seen_at?: number;
  readonly used: UsedReply;
}

/** Which users, and the month of their usage. */
export interface UsersQuery {
  /** The `next` of the page before. */
  readonly after?: string;
  readonly limit?: number;
  /** As 2026-11; absent: this one. */
  readonly month?: string;
  /** IANA name of the zone whose days count. */
  readonly timezone?: string;
}

/** What a component says from the next turn on. */
export interface VersionBody {
  /** Absent: its file holds again. */
  readonly text?: string;
  /** What for, for those who look at it later. */
  readonly note?: string;
  /** Number of the newest version that was seen; 0: of none. */
  readonly after: number;
}

/** What a memory became at one change, by whom and why. */
export interface VersionItem {
  readonly version: number;
  readonly operation: "remembered" | "updated" | "reinforced" | "suppressed" | "frozen" | "activated" | "replaced" | "merged" | "confirmed" | "flagged" | "deleted" | "restored" | "erased";
  /** A user's id, `model`, `keeper`, or a tool's name. */
  readonly actor: string;
  readonly reason: string;
  readonly turn_id?: string;
  readonly at: number;
  readonly content: string;
  readonly summary: string;
  readonly type: "preference" | "fact" | "event" | "summary" | "project_decision" | "user_preference" | "discussion_conclusion" | "action_item" | "constraint" | "risk" | "feedback" | "skill" | "reference";
  readonly status: "active" | "suppressed" | "frozen" | "replaced";
  readonly importance: number;
  readonly confidence: number;
  readonly tags: readonly string[];
  readonly superseded_by?: string;
}

export interface VersionsQuery {
  /** `next` of the page before. */
  readonly before?: number;
}

/** An address, and the events to post to it. */
export interface WebhookBody {
  /** Is posted to: https, a public host. */
  readonly url: string;
  /** Events to post; absent: all there are. */
  readonly events?: readonly ("turn.finished" | "approval.waiting" | "limit.near" | "schedule.failed")[];
}

/** Whether anything is posted to it. */
export interface WebhookChanges {
  readonly enabled: boolean;
}

/** Yours, the oldest first. */
export interface WebhookList {
  readonly webhooks: readonly WebhookReply[];
}

/** Times are Unix milliseconds. */
export interface WebhookReply {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly created_at: number;
  /** Since when nothing is posted: as you, or it, asked. */
  readonly disabled_at?: number;
  /** Why it is off, where neither you nor its address asked: `key_revoked`. */
  readonly reason?: string;
  /** In a row, until now. */
  readonly failures: number;
  /** Until when it is left alone after failures. */
  readonly rests_until?: number;
}

/** What came of a post. */
export interface WebhookTest {
  readonly delivered: boolean;
  readonly duration_ms: number;
  readonly status?: number;
  readonly error?: string;
}

/** A conversation, or the session that is to be read. */
export interface WriteBody {
  /** You; another user's memories are refused. */
  readonly user_id?: string;
  /** The role, or interface. */
  readonly role_id?: string;
  readonly project_id?: string;
  /** A session of yours; beside a conversation also one of another system, which becomes a tag of what is new. */
  readonly session_id?: string;
  /** The task: what is of other tasks is not seen. */
  readonly task_id?: string;
  /** The group: what is of other groups is not seen. */
  readonly group_id?: string;
  /** Messages, or a text in which lines begin with the speakers (User: …, 助手：…); one without speakers is yours. */
  readonly conversation?: readonly MessageBody[] | string;
  /** The same under another name. */
  readonly messages?: readonly MessageBody[] | string;
  /** Whether you are the user in that conversation, as your client has recorded it: then it is remembered at once. Else a stranger may have written it, and what is found waits for you to confirm it. */
  readonly is_own?: boolean;
}

/** What became of the conversation; empty when nothing in it was worth remembering, or all was known. */
export interface Written {
  readonly changed: readonly MemoryChange[];
}
