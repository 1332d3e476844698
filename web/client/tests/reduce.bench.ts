// @vitest-environment node
//
// `npx vitest bench client`: what an event costs in a conversation of so many turns. It should not matter how many.

import { bench, describe } from "vitest";

import { emptyConversation, reduce, reduceAll } from "../src/index.js";
import type { Conversation, Event } from "../src/index.js";

const event = (seq: number, turn_id: string, type: string, data: object): Event =>
  ({ v: 1, seq, ts: seq, session_id: "s", turn_id, iteration: 1, type, data }) as unknown as Event;

/** The last turn runs. */
function conversationOf(turns: number): Conversation {
  const said = Array.from({ length: turns }, (_, number) => [
    ["turn_start", { input: "hi", model: "m", trace_id: "" }], ["iteration_start", { attempt: 1, model: "m" }], ["text", { text: "Hello." }],
    ["iteration_end", { duration_ms: 1 }], ["done", { status: "completed", iterations: 1, duration_ms: 1 }],
  ].map(([type, data]) => [`t_${number}`, type, data] as [string, string, object])).flat().slice(0, -2);
  return reduceAll(emptyConversation(), said.map(([turn, type, data], index) => event(index + 1, turn, type, data)));
}

for (const turns of [1, 100, 1000, 10_000]) {
  describe(`${turns} turns`, () => {
    const full = conversationOf(turns);
    let conversation = full;
    bench("1,000 pieces of text", () => {
      conversation = full;
      for (let count = 1; count <= 1000; count += 1) {
        conversation = reduce(conversation, event(full.last + count, full.newest ?? "", "text", { text: "word " }));
      }
    });
    bench("a turn begins", () => {
      reduce(full, event(full.last + 1, "t_new", "turn_start", { input: "", model: "", trace_id: "" }));
    });
  });
}
