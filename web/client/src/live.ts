// A session on a screen: the newest page of its log, older pages as they are asked for, and what happens now.

import type * as api from "./api.js";
import { waitToRetry } from "./backoff.js";
import type { GatewayClient } from "./client.js";
import { Refused, Unreachable } from "./connection.js";
import type { Conversation, Event } from "./conversation.js";
import { followSession, type Link } from "./follow.js";
import { emptyConversation, prepend, reduceAll } from "./reduce.js";

const PAGE = 500;
const FRAME_MS = 16;
const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 15_000;

/** `gone`: there is no such session, or it belongs to somebody else. `failed`: `error` says why. */
export interface LiveView {
  readonly conversation: Conversation;
  /** The session as it was when it was opened: whose it is, and what one may do in it. */
  readonly details: api.SessionDetails | null;
  readonly state: "loading" | "ready" | "gone" | "failed";
  readonly link: Link | null;
  readonly error: Error | null;
}

export interface LiveOptions {
  /** Called after each change, at most once for all events of a frame of the screen. */
  readonly onChange: (view: LiveView) => void;
  /** The events that a change came with, oldest first, right before `onChange`: of the log's end, or `older` ones. */
  readonly onEvents?: (events: readonly Event[], place: "newest" | "older") => void;
}

/** Follows a session from when it is made until `close`. What may help later is tried again, with growing waits. */
export class LiveSession {
  private view: LiveView = { conversation: emptyConversation(), details: null, state: "loading", link: null, error: null };
  private readonly ending = new AbortController();
  private older: Promise<void> | null = null;
  private waiting: Event[] = [];

  constructor(private readonly client: GatewayClient, readonly session: string, private readonly options: LiveOptions) {
    void this.run();
  }

  /** Ends it: nothing is called any more. */
  close(): void {
    this.ending.abort();
  }

  /** Puts the page of the log before the first known event in front; does nothing where that is the session's first.
   * Rejects with `Refused` or `Unreachable`. */
  loadOlder(): Promise<void> {
    const { first } = this.view.conversation;
    if (first <= 1 || this.ending.signal.aborted) return Promise.resolve();
    this.older ??= this.readOlder(first);
    return this.older;
  }

  private async readOlder(first: number): Promise<void> {
    let events: readonly Event[];
    try {
      events = await this.client.eventsBefore(this.session, first, PAGE, { signal: this.ending.signal });
      await new Promise((resolve) => setTimeout(resolve, FRAME_MS)); // a frame for reading the page, another for drawing it
    } finally {
      this.older = null; // before the change: who draws it may ask for the next page at once
    }
    this.change({ conversation: prepend(this.view.conversation, events) }, events, "older");
  }

  private async run(): Promise<void> {
    const { signal } = this.ending;
    for (let wait = FIRST_WAIT_MS; !signal.aborted; wait = Math.min(2 * wait, MAX_WAIT_MS)) {
      try {
        await this.follow(signal);
        return;
      } catch (error) {
        if (!mayHelpLater(error)) {
          const isGone = error instanceof Refused && error.status === 404;
          this.change({ state: isGone ? "gone" : "failed", error: error as Error });
          return;
        }
        this.change({ link: { state: "lost", error, retryAt: Date.now() + wait } });
      }
      await waitToRetry(wait, signal);
    }
  }

  private async follow(signal: AbortSignal): Promise<void> {
    const details = await this.client.session(this.session);
    const { head } = details;
    const page = head > 0 ? await this.client.eventsBefore(this.session, head + 1, PAGE, { signal }) : [];
    this.waiting = [];
    this.change({ conversation: reduceAll(emptyConversation(), page), details, state: "ready" }, page, "newest");
    await followSession(this.client, this.session, {
      after: page.at(-1)?.seq ?? 0, onEvents: (events) => this.take(events), onLink: (link) => this.change({ link }), signal,
    });
  }

  /** One change for all that came within a frame. */
  private take(events: readonly Event[]): void {
    if (this.waiting.length === 0) setTimeout(() => this.show(), FRAME_MS);
    this.waiting.push(...events);
  }

  private show(): void {
    const events = this.waiting;
    this.waiting = [];
    this.change({ conversation: reduceAll(this.view.conversation, events) }, events, "newest");
  }

  private change(change: Partial<LiveView>, events: readonly Event[] = [], place: "newest" | "older" = "newest"): void {
    if (this.ending.signal.aborted) return;
    this.view = { ...this.view, ...change };
    if (events.length > 0) this.options.onEvents?.(events, place);
    this.options.onChange(this.view);
  }
}

function mayHelpLater(error: unknown): error is Refused | Unreachable {
  return error instanceof Unreachable || (error instanceof Refused && error.retryable);
}
