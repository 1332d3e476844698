// What took time in a turn, and when: the rows of its waterfall, from its events.

import {
  type ApprovalRequest, type ApprovalResponse, type CallResult, type Compression, type Done, type Event, isKnown,
  type IterationEnd, type KnownEvent, type Retrieval, type StepTrace, type ToolCall, type Usage,
} from "@chat-gateway/client";

/** A stretch of a row. queued: turns before it run. answering: until the first piece. writing: pieces come. deciding:
 * a person is asked. running: a tool, or a search. pausing: until the next attempt. */
export interface Segment {
  readonly kind: "queued" | "answering" | "writing" | "deciding" | "running" | "pausing";
  readonly from: number;
  readonly to: number;
}

interface Span {
  /** The `seq` of its first event, with a number behind it where an event has several rows. */
  readonly key: string;
  /** 0: of the turn; 1: of the call before it. */
  readonly depth: 0 | 1;
  /** Unix milliseconds; equal for what takes no time. */
  readonly from: number;
  readonly to: number;
  /** It has not ended; `to` is the time of the newest event. */
  readonly open: boolean;
  readonly segments: readonly Segment[];
}

export interface QueueRow extends Span { readonly kind: "queue" }
export interface ModelRow extends Span {
  readonly kind: "model";
  readonly iteration: number;
  readonly attempt: number;
  readonly model: string;
  /** cut: it ended without a stop reason. */
  readonly state: "running" | "ended" | "cut" | "superseded";
  readonly end?: IterationEnd;
  /** Why it was superseded. */
  readonly reason?: string;
  readonly usage?: Usage;
}
export interface ToolRow extends Span {
  readonly kind: "tool";
  readonly id: string;
  readonly name: string;
  readonly call?: ToolCall;
  readonly result?: CallResult;
}
export interface ApprovalRow extends Span {
  readonly kind: "approval";
  readonly request?: ApprovalRequest;
  readonly response?: ApprovalResponse;
}
export interface StepRow extends Span { readonly kind: "step"; readonly step: StepTrace }
export interface RetrievalRow extends Span { readonly kind: "retrieval"; readonly data: Retrieval }
export interface CompressionRow extends Span { readonly kind: "compression"; readonly data: Compression }
/** What takes no time: a memory, an artifact, a warning, an error, or an event of a type that is not known. */
export interface MarkRow extends Span { readonly kind: "mark"; readonly event: Event }

export type Row = QueueRow | ModelRow | ToolRow | ApprovalRow | StepRow | RetrievalRow | CompressionRow | MarkRow;

export interface Timeline {
  /** From the moment at which its message came, which may have waited in the queue, to its newest event. */
  readonly from: number;
  readonly to: number;
  readonly traceId?: string;
  readonly traceUrl?: string;
  readonly done?: Done;
  readonly rows: readonly Row[];
}

type Open<R extends Row> = { -readonly [K in keyof R]: R[K] } & { segments: Segment[] };
interface CallRows { tool: Open<ToolRow>; approval?: Open<ApprovalRow>; rows: Row[]; decided?: number }

const AT_ONCE = { depth: 0, open: false } as const;

/** The rows of one turn; `events` are all that are known of it, in their order. */
export function timelineOf(events: readonly Event[]): Timeline {
  const folding = new Folding();
  for (const event of events) folding.take(event);
  return folding.end();
}

class Folding {
  private readonly order: (Row | CallRows)[] = [];
  private readonly calls = new Map<string, CallRows>();
  private readonly begun: { from?: number; traceId?: string; traceUrl?: string; done?: Done } = {};
  private attempt: Open<ModelRow> | undefined;
  private failed: Open<ModelRow> | undefined;
  private firstPiece: number | undefined;
  private compression: Open<CompressionRow> | undefined;
  private newest = 0;

  take(event: Event): void {
    if (event.type === "feedback") return; // it may come a day later, and took no time of the turn
    this.newest = Math.max(this.newest, event.ts);
    if (event.type === "text" || event.type === "thinking") {
      this.firstPiece ??= event.ts;
      return;
    }
    if (isKnown(event)) this.takeKnown(event);
    else this.mark(event);
  }

  end(): Timeline {
    const rows: Row[] = [];
    if (this.attempt) this.endAttempt(this.newest, { open: this.begun.done === undefined });
    for (const each of this.order) {
      if (!("tool" in each)) {
        rows.push(each.open ? { ...each, to: this.newest } : each);
        continue;
      }
      this.layOut(each);
      rows.push(each.tool, ...each.rows.sort((one, other) => one.from - other.from));
    }
    const { from = Math.min(...rows.map((row) => row.from), this.newest), ...known } = this.begun;
    return { ...known, from, to: this.newest, rows };
  }

  private takeKnown(event: KnownEvent): void {
    const { ts, seq } = event;
    switch (event.type) {
      case "turn_start": {
        const { queued_ms: queued = 0, trace_id: traceId, trace_url: traceUrl } = event.data;
        Object.assign(this.begun, { from: ts - queued, traceId }, traceUrl === undefined ? {} : { traceUrl });
        if (queued > 0) {
          const segments: Segment[] = [{ kind: "queued", from: ts - queued, to: ts }];
          this.order.push({ ...AT_ONCE, kind: "queue", key: String(seq), from: ts - queued, to: ts, segments });
        }
        return;
      }
      case "iteration_start":
        if (this.attempt) this.endAttempt(ts, {});
        this.endPause(ts, event.iteration ?? 0);
        this.firstPiece = undefined;
        this.attempt = {
          kind: "model", key: String(seq), depth: 0, from: ts, to: ts, open: true, segments: [], state: "running",
          iteration: event.iteration ?? 0, attempt: event.data.attempt, model: event.data.model,
        };
        this.order.push(this.attempt);
        return;
      case "iteration_end": {
        const { usage, stop_reason: reason } = event.data;
        const state = reason === undefined ? "cut" : "ended";
        this.endAttempt(ts, { end: event.data, state, ...(usage ? { usage } : {}) });
        return;
      }
      case "iteration_superseded": {
        const { reason, usage } = event.data;
        this.failed = this.attempt;
        this.endAttempt(ts, { state: "superseded", reason, ...(usage ? { usage } : {}) });
        return;
      }
      case "tool_call":
        this.callOf(event).tool.call = event.data;
        return;
      case "tool_result": {
        const { tool } = this.callOf(event);
        Object.assign(tool, { result: event.data, to: ts, open: false });
        return;
      }
      case "tool_progress":
        this.callOf(event);
        return;
      case "approval_request":
        this.approvalOf(event).request = event.data;
        return;
      case "approval_response": {
        const call = this.callOf(event);
        call.decided = ts;
        Object.assign(this.approvalOf(event), { response: event.data, to: ts, open: false });
        return;
      }
      case "retrieval": {
        const from = ts - (event.data.duration_ms ?? 0);
        const segments: Segment[] = [{ kind: "running", from, to: ts }];
        this.add(event, { ...AT_ONCE, kind: "retrieval", key: String(seq), from, to: ts, segments, data: event.data });
        return;
      }
      case "compression":
        this.takeCompression(event.data, seq, ts);
        return;
      case "done":
        this.begun.done = event.data;
        return;
      default:
        this.mark(event);
    }
  }

  private takeCompression(data: Compression, seq: number, ts: number): void {
    if (data.phase === "started" || !this.compression) {
      const from = data.phase === "started" ? ts : ts - (data.duration_ms ?? 0);
      this.compression = { ...AT_ONCE, kind: "compression", key: String(seq), from, to: ts, segments: [], data };
      this.order.push(this.compression);
    }
    const row = this.compression;
    Object.assign(row, { data, to: ts, open: data.phase === "started" });
    row.segments = [{ kind: "running", from: row.from, to: ts }];
    if (data.phase !== "started") this.compression = undefined;
  }

  private mark(event: Event): void {
    this.add(event, {
      ...AT_ONCE, kind: "mark", key: String(event.seq), from: event.ts, to: event.ts, segments: [], event,
    });
  }

  // Below the call in which it happened, if it did in one.
  private add(event: Event, row: Row): void {
    const call = event.tool_call_id === undefined ? undefined : this.calls.get(event.tool_call_id);
    if (call) call.rows.push({ ...row, depth: 1 });
    else this.order.push(row);
  }

  private callOf({ seq, ts, tool_call_id: id = "", data }: Event): CallRows {
    let call = this.calls.get(id);
    if (!call) {
      const name = typeof (data as { name?: unknown }).name === "string" ? (data as { name: string }).name : id;
      call = { tool: { kind: "tool", key: String(seq), depth: 0, from: ts, to: ts, open: true, segments: [], id, name }, rows: [] };
      this.calls.set(id, call);
      this.order.push(call);
    }
    return call;
  }

  private approvalOf(event: Event): Open<ApprovalRow> {
    const call = this.callOf(event);
    if (!call.approval) {
      const { seq, ts } = event;
      call.approval = { kind: "approval", key: String(seq), depth: 1, from: ts, to: ts, open: true, segments: [] };
      call.rows.push(call.approval);
    }
    return call.approval;
  }

  private endAttempt(at: number, found: Partial<Open<ModelRow>>): void {
    const row = this.attempt;
    if (!row) return;
    this.attempt = undefined;
    const first = found.end?.ttft_ms === undefined ? this.firstPiece : row.from + found.end.ttft_ms;
    const wrote = first !== undefined && first <= at;
    Object.assign(row, { open: false, state: found.open ? "running" : "cut", to: at, ...found });
    row.segments = [
      { kind: "answering", from: row.from, to: wrote ? first : at },
      ...(wrote ? [{ kind: "writing", from: first, to: at } as const] : []),
    ];
  }

  private endPause(at: number, iteration: number): void {
    const row = this.failed;
    this.failed = undefined;
    if (row?.iteration === iteration && at > row.to) row.segments.push({ kind: "pausing", from: row.to, to: at });
  }

  private layOut({ tool, approval, rows, decided }: CallRows): void {
    if (tool.open) tool.to = this.newest;
    if (approval) {
      if (approval.open) approval.to = tool.open ? this.newest : tool.to;
      if (!tool.open) approval.open = false;
      approval.segments = [{ kind: "deciding", from: approval.from, to: approval.to }];
      tool.segments.push(...approval.segments);
    }
    const waits = approval?.open === true;
    const took = tool.result?.duration_ms;
    const began = Math.max(decided ?? tool.from, took === undefined ? 0 : tool.to - took);
    if (!waits && tool.result?.status !== "denied") tool.segments.push({ kind: "running", from: Math.min(began, tool.to), to: tool.to });
    for (const [number, step] of (tool.result?.steps ?? []).entries()) {
      const from = step.timestamp ?? began, to = from + step.duration_ms;
      rows.push({
        kind: "step", key: `${tool.key}.${number}`, depth: 1, from, to, open: false,
        segments: [{ kind: "running", from, to }], step,
      });
    }
  }
}
