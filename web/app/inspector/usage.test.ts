import { describe, expect, it } from "vitest";

import { recorder, USAGE, wholeTurn } from "./recorded";
import { callsOf, contextOf, spentBy, spentInSession, spentOf, tokensOf, totalOf } from "./usage";

describe("what was used", () => {
  it("counts every class of tokens, those of the cache too", () => {
    expect(tokensOf(USAGE)).toEqual({ input: 100, cacheRead: 300, cacheWrite: 50, output: 20 });
    expect(totalOf(tokensOf(USAGE))).toBe(470);
    expect(contextOf(tokensOf(USAGE))).toBe(450);
  });

  it("lists each attempt of each call with what is known of it", () => {
    expect(callsOf(wholeTurn())).toMatchObject([
      { iteration: 1, attempt: 1, superseded: true, tokens: { input: 100 } },
      { iteration: 1, attempt: 2, superseded: false, cost: 0.25 },
      { iteration: 2, attempt: 1, superseded: false, tokens: { output: 20 } },
    ]);
    expect(callsOf(wholeTurn())[2]).not.toHaveProperty("cost");
  });

  it("takes a turn's sum from its end, and a cost that is not told there is unknown", () => {
    expect(spentOf(wholeTurn())).toMatchObject({ calls: 2, tokens: { output: 60 }, cost: 0, unpriced: 1, unreported: 0 });
  });

  it("adds up the calls that are over while a turn runs", () => {
    const running = wholeTurn().slice(0, 14);
    expect(spentOf(running)).toMatchObject({ calls: 2, tokens: { input: 200, cacheRead: 600 }, cost: 0.25, unpriced: 1 });
    expect(callsOf(running).at(-1)).toMatchObject({ open: true });
  });

  it("says of calls that never reported that they did not", () => {
    const make = recorder();
    const stopped = [
      make("iteration_start", 0, { attempt: 1, model: "m" }, { iteration: 1 }),
      make("done", 9, { status: "cancelled", iterations: 1, usage_unreported: 1, duration_ms: 9 }),
    ];
    expect(spentOf(stopped)).toMatchObject({ calls: 1, unreported: 1, unpriced: 1 });
  });

  it("is nothing, and not unknown, for a turn that never asked the model", () => {
    const make = recorder();
    expect(spentOf([make("done", 9, { status: "cancelled", iterations: 0, duration_ms: 9 })])).toMatchObject({ unpriced: 0, unreported: 0 });
  });

  it("adds to a session what its summaries used", () => {
    const make = recorder("op_1", 50);
    const events = [...wholeTurn(), make("compression", 1, { phase: "completed", usage: USAGE, cost: 0.5 })];
    expect(spentInSession(events)).toMatchObject({ calls: 3, tokens: { output: 80 }, cost: 0.5, unpriced: 1 });
  });
});

it("adds up what all turns of a reader used, whatever the model", () => {
  const usage = { input_tokens: 1, output_tokens: 2, cache_read_input_tokens: 3, cache_creation_input_tokens: 4 };
  const spent = spentBy([
    { model: "large", turns: 2, usage, cost: 0.5, unpriced: 0 }, { model: "local", turns: 3, usage, unpriced: 3 },
  ]);
  expect(spent).toMatchObject({ calls: 5, cost: 0.5, unpriced: 3, tokens: { input: 2, output: 4, cacheRead: 6, cacheWrite: 8 } });
});
