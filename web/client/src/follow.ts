// A session's events as they come, over as many connections as it takes.

import type { GatewayClient } from "./client.js";
import type { Event } from "./conversation.js";

/** `live`: connected, and what was missed is read. `catching_up`: connected, older events come. `lost`: between two
 * connections; `retryAt` is when the next one is tried, Unix milliseconds. */
export type Link =
  | { readonly state: "connecting" }
  | { readonly state: "catching_up"; readonly head: number }
  | { readonly state: "live" }
  | { readonly state: "lost"; readonly error: Error; readonly retryAt: number };

export interface FollowOptions {
  /** The cursor: events after this `seq` come. */
  readonly after?: number;
  /** Each event once, in order. */
  readonly onEvent: (event: Event) => void;
  /** The same events, as many as came in one read, instead of `onEvent`: one update of the screen for all of them. */
  readonly onEvents?: (events: readonly Event[]) => void;
  readonly onLink?: (link: Link) => void;
  /** Ends it. */
  readonly signal?: AbortSignal;
  /** Only this turn: it ends after its `done`. */
  readonly turnId?: string;
}

/** Resolves when `signal` aborts, or after the `done` of the turn. Rejects with `Refused` when the server says a final
 * no (404, 403, a cursor beyond the head). */
export async function followSession(_client: GatewayClient, _session: string, _options: FollowOptions): Promise<void> {
  throw new Error("not yet");
}

/** `speed`: 1 for the pace at which it happened, 10, or `max`. Resolves after the last event. */
export interface ReplayOptions {
  readonly speed?: number | "max";
  readonly from?: number;
  readonly to?: number;
  readonly onEvent: (event: Event) => void;
  readonly signal?: AbortSignal;
}

export async function replaySession(_client: GatewayClient, _session: string, _options: ReplayOptions): Promise<void> {
  throw new Error("not yet");
}
