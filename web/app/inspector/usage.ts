// What model calls used and cost. What nobody reported stays unknown: it is never 0.

import { type api, type Event, isKnown, type Usage } from "@chat-gateway/client";

/** Tokens by class, as the endpoint counts them: `input` is what was neither read from its cache nor written to it. */
export interface Tokens {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
}

export interface Spent {
  readonly calls: number;
  readonly tokens: Tokens;
  /** Calls that began to answer and never reported what they used. */
  readonly unreported: number;
  /** US dollars of the calls whose price is known. */
  readonly cost: number;
  /** Calls, or whole turns, of which no price is known. */
  readonly unpriced: number;
}

export const CLASSES = ["input", "cacheRead", "cacheWrite", "output"] as const;

export const NO_TOKENS: Tokens = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
export const NOTHING_SPENT: Spent = { calls: 0, tokens: NO_TOKENS, unreported: 0, cost: 0, unpriced: 0 };

/** One model call that was tried: an attempt. */
export interface CallSpent {
  readonly key: string;
  readonly iteration: number;
  readonly attempt: number;
  readonly model: string;
  /** It is still running. */
  readonly open: boolean;
  readonly superseded: boolean;
  readonly tokens?: Tokens;
  readonly cost?: number;
}

export function tokensOf(usage: Usage): Tokens {
  return {
    input: usage.input_tokens,
    cacheRead: usage.cache_read_input_tokens ?? 0,
    cacheWrite: usage.cache_creation_input_tokens ?? 0,
    output: usage.output_tokens,
  };
}

export function totalOf(tokens: Tokens): number {
  return CLASSES.reduce((sum, each) => sum + tokens[each], 0);
}

/** What a call was given: all but its answer. */
export function contextOf(tokens: Tokens): number {
  return totalOf(tokens) - tokens.output;
}

export function plus(one: Spent, other: Spent): Spent {
  const tokens = { ...NO_TOKENS };
  for (const each of CLASSES) tokens[each] = one.tokens[each] + other.tokens[each];
  return {
    calls: one.calls + other.calls, tokens, unreported: one.unreported + other.unreported, cost: one.cost + other.cost,
    unpriced: one.unpriced + other.unpriced,
  };
}

/** The calls of a turn, in their order. */
export function callsOf(events: readonly Event[]): readonly CallSpent[] {
  const calls: { -readonly [K in keyof CallSpent]: CallSpent[K] }[] = [];
  for (const event of events) {
    if (!isKnown(event)) continue;
    const last = calls.at(-1);
    if (event.type === "iteration_start") {
      if (last) last.open = false;
      const { attempt, model } = event.data;
      calls.push({ key: String(event.seq), iteration: event.iteration ?? 0, attempt, model, open: true, superseded: false });
    } else if (event.type === "done" && last) {
      last.open = false;
    } else if (last && (event.type === "iteration_end" || event.type === "iteration_superseded")) {
      last.open = false;
      last.superseded = event.type === "iteration_superseded";
      if (event.data.usage) last.tokens = tokensOf(event.data.usage);
      if (event.type === "iteration_end" && event.data.cost !== undefined) last.cost = event.data.cost;
    }
  }
  return calls;
}

/** What a turn used: by its `done`; while it runs, as far as its calls have said. */
export function spentOf(events: readonly Event[]): Spent {
  const done = events.findLast((event) => event.type === "done");
  return done ? spentOfDone(done) : callsOf(events).filter((call) => !call.open).reduce((sum, call) => plus(sum, spentOfCall(call)), NOTHING_SPENT);
}

/** What a session used, by the `done` of its turns and the compressions that succeeded, whose summaries are no turn's. */
export function spentInSession(events: Iterable<Event>): Spent {
  let sum = NOTHING_SPENT;
  for (const event of events) {
    if (event.type === "done") sum = plus(sum, spentOfDone(event));
    else if (isKnown(event) && event.type === "compression" && event.data.phase === "completed") {
      const { usage, cost } = event.data;
      sum = plus(sum, {
        calls: 1, tokens: usage ? tokensOf(usage) : NO_TOKENS, unreported: usage ? 0 : 1, cost: cost ?? 0, unpriced: cost === undefined ? 1 : 0,
      });
    }
  }
  return sum;
}

function spentOfCall({ tokens, cost, superseded }: CallSpent): Spent {
  // A superseded attempt has no price of its own; one that never began to answer used nothing.
  const isUnknown = cost === undefined && (tokens !== undefined || !superseded);
  return {
    calls: 1, tokens: tokens ?? NO_TOKENS, unreported: tokens || superseded ? 0 : 1, cost: cost ?? 0, unpriced: isUnknown ? 1 : 0,
  };
}

function spentOfDone(event: Event): Spent {
  if (!isKnown(event) || event.type !== "done") return NOTHING_SPENT;
  const { usage, usage_unreported: unreported = 0, cost, iterations } = event.data;
  const isFree = cost === undefined && iterations === 0 && unreported === 0;
  return {
    calls: iterations, tokens: usage ? tokensOf(usage) : NO_TOKENS,
    unreported: usage || isFree ? unreported : Math.max(1, unreported), cost: cost ?? 0, unpriced: cost === undefined && !isFree ? 1 : 0,
  };
}

/** What many turns used, as the server has added it up. */
export function spentBy(models: readonly api.ModelUsageReply[]): Spent {
  return models.reduce((sum, { turns, usage, cost, unpriced }) => ({
    ...sum, calls: sum.calls + turns, cost: sum.cost + (cost ?? 0), unpriced: sum.unpriced + unpriced,
    tokens: {
      input: sum.tokens.input + usage.input_tokens, output: sum.tokens.output + usage.output_tokens,
      cacheRead: sum.tokens.cacheRead + usage.cache_read_input_tokens, cacheWrite: sum.tokens.cacheWrite + usage.cache_creation_input_tokens,
    },
  }), NOTHING_SPENT);
}
