// A session's events as they come, over as many connections as it takes.

import { Backoff, waitToRetry } from "./backoff.js";
import type { GatewayClient } from "./client.js";
import type { Query } from "./connection.js";
import { reading, Refused, Unreachable } from "./connection.js";
import type { Event } from "./conversation.js";
import { parseExact, share } from "./json.js";
import type { Frame } from "./sse.js";
import { FrameReader } from "./sse.js";

const SILENCE_MS = 45_000; // the server sends a heartbeat every 15 s
const FIRST_WAIT_MS = 500;

/** `live`: connected, and what was missed is read. `catching_up`: connected, older events come. `lost`: between two
 * connections; `retryAt` is when the next one is tried, Unix milliseconds. */
export type Link =
  | { readonly state: "connecting" }
  | { readonly state: "catching_up"; readonly head: number }
  | { readonly state: "live" }
  | { readonly state: "lost"; readonly error: Error; readonly retryAt: number };

/** Either `onEvent` or `onEvents` is given. What they throw ends it, and is thrown. */
interface Following {
  /** Each event once, in order. */
  readonly onEvent?: (event: Event) => void;
  /** The same events, as many as came in one read: one update of the screen for all of them. */
  readonly onEvents?: (events: readonly Event[]) => void;
  readonly onLink?: (link: Link) => void;
  /** Ends it. */
  readonly signal?: AbortSignal;
  /** Without a byte for so long, a connection counts as lost: milliseconds, more than the server's heartbeat. */
  readonly silence?: number;
}

export interface FollowOptions extends Following {
  /** The cursor: events after this `seq` come. */
  readonly after?: number;
  /** Only this turn: it ends after its `done`. */
  readonly turnId?: string;
}

export interface ReplayOptions extends Following {
  /** 1 for the pace at which it happened, 10 for ten times that, `max` for no wait. */
  readonly speed?: number | "max";
  /** `seq` of the first and of the last event. */
  readonly from?: number;
  readonly to?: number;
  /** Only the turns of that branch. */
  readonly branch?: number;
  /** The longest wait between two events, in seconds. */
  readonly pause?: number;
}

/** Resolves when `signal` aborts, or after the `done` of the turn. Rejects with `Refused` when the server says a final
 * no: no such session, a cursor beyond its head, no key. What may help later is tried again, with growing waits. */
export async function followSession(client: GatewayClient, session: string, options: FollowOptions): Promise<void> {
  const { after = 0, turnId } = options;
  const isLast = (event: Event): boolean => event.type === "done" && event.turn_id === turnId;
  await new Stream(client, `/api/sessions/${encodeURIComponent(session)}/events`, { turn_id: turnId }, after, options, isLast).run();
}

/** Resolves after the last event that there is when it begins, or when `signal` aborts. Rejects as `followSession`. */
export async function replaySession(client: GatewayClient, session: string, options: ReplayOptions): Promise<void> {
  const { speed, from = 1, to, branch, pause: longest } = options;
  const query = { speed, to, branch, pause: longest };
  await new Stream(client, `/api/sessions/${encodeURIComponent(session)}/replay`, query, from - 1, options, () => false, true).run();
}

class Stream {
  private readonly backoff = new Backoff(FIRST_WAIT_MS);
  private head = 0;
  private isOver = false;
  private newest: Event | undefined;
  private readonly signal: AbortSignal;

  constructor(
    private readonly client: GatewayClient,
    private readonly path: string,
    private readonly query: Query,
    private cursor: number,
    private readonly options: Following,
    private readonly isLast: (event: Event) => boolean,
    /** Whether the stream ends by itself: then its end is no loss. */
    private readonly ends = false,
  ) {
    this.signal = options.signal ?? new AbortController().signal;
  }

  async run(): Promise<void> {
    while (this.goesOn()) {
      this.tell({ state: "connecting" });
      const error = await this.connect();
      if (!this.goesOn()) return;
      if (error instanceof Refused && !mayHelp(error)) throw error;
      const asked = error instanceof Refused ? (error.retryAfter ?? 0) * 1000 : 0;
      const wait = Math.max(asked, this.backoff.next());
      this.tell({ state: "lost", error, retryAt: Date.now() + wait });
      await waitToRetry(wait, this.signal);
    }
  }

  private goesOn(): boolean {
    return !this.signal.aborted && !this.isOver;
  }

  /** One connection up to its end: why it ended. */
  private async connect(): Promise<Error> {
    const silence = new Silence(this.options.silence ?? SILENCE_MS, this.signal);
    try {
      const reads = this.open(silence);
      for (;;) {
        let read: IteratorResult<readonly Frame[]>;
        try {
          read = await reads.next();
        } catch (error) {
          if (silence.isOver && !this.signal.aborted) return new Unreachable("The connection fell silent.");
          if (error instanceof Refused || error instanceof Unreachable || this.signal.aborted) return error as Error;
          throw error;
        }
        if (this.signal.aborted) return new Unreachable("Aborted.");
        if (read.done) break;
        const refusal = this.take(read.value); // outside of the try: what the handlers throw is theirs
        if (refusal || this.isOver) return refusal ?? new Unreachable("Over.");
      }
      if (this.ends && this.cursor >= this.head) this.isOver = true;
      return new Unreachable("The connection ended.");
    } finally {
      silence.end();
    }
  }

  private async *open(silence: Silence): AsyncGenerator<readonly Frame[]> {
    const headers = { "Accept": "text/event-stream", "Last-Event-ID": String(this.cursor) };
    const response = await this.client.connection.send(this.path, { headers, signal: silence.signal }, this.query);
    if (response.status === 204 || !response.body) {
      this.isOver = true; // nothing will come any more
      return;
    }
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    const frames = new FrameReader();
    for (;;) {
      const { value, done } = await reading(reader.read());
      if (done) return;
      silence.broken();
      yield frames.take(decoder.decode(value, { stream: true }));
    }
  }

  private take(frames: readonly Frame[]): Refused | undefined {
    const events: Event[] = [];
    let refusal: Refused | undefined;
    for (const { event: type, data } of frames) {
      if (data === undefined) continue;
      const said = parseExact(data) as Event & { readonly head?: number; readonly code?: string; readonly message?: string };
      if (type === "stream_open") {
        this.head = said.head ?? 0;
        this.tell(this.head > this.cursor ? { state: "catching_up", head: this.head } : { state: "live" });
      } else if (type === "stream_error") {
        refusal = new Refused(503, said);
      } else if (said.seq > this.cursor) {
        this.cursor = said.seq;
        share(said, this.newest);
        this.newest = said;
        events.push(said);
        if (this.isLast(said)) this.isOver = true;
      }
    }
    this.give(events);
    return refusal;
  }

  private give(events: readonly Event[]): void {
    const [first, last] = [events[0], events.at(-1)];
    if (!first || !last) return;
    this.backoff.reset();
    if (this.options.onEvents) this.options.onEvents(events);
    else events.forEach((event) => this.options.onEvent?.(event));
    if (first.seq <= this.head && last.seq >= this.head) this.tell({ state: "live" });
  }

  private tell(link: Link): void {
    this.options.onLink?.(link);
  }
}

/** Aborts `signal` when nothing came for a while, and when the outer one does. */
class Silence {
  isOver = false;
  private readonly controller = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly abort = (): void => this.controller.abort();

  constructor(private readonly ms: number, private readonly outer: AbortSignal) {
    if (outer.aborted) this.abort();
    outer.addEventListener("abort", this.abort);
    this.broken();
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  broken(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.isOver = true;
      this.abort();
    }, this.ms);
  }

  end(): void {
    clearTimeout(this.timer);
    this.outer.removeEventListener("abort", this.abort);
    this.abort();
  }
}

function mayHelp(error: Refused): boolean {
  return error.retryable || error.status >= 500 || [408, 425, 429].includes(error.status);
}
