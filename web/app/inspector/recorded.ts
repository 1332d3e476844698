// Events for tests: a turn as the log has it.

import type { Event } from "@chat-gateway/client";

/** Makes events with running numbers; times are milliseconds after a fixed moment. */
export function recorder(turnId = "t_1", first = 1) {
  let seq = first;
  return (type: string, at: number, data: object = {}, more: { iteration?: number; tool_call_id?: string; turn_id?: string } = {}): Event =>
    ({ v: 1, seq: seq++, type, ts: START + at, session_id: "s_1", turn_id: turnId, ...more, data }) as Event;
}

export const START = 1_795_000_000_000;

export const USAGE = { input_tokens: 100, output_tokens: 20, cache_read_input_tokens: 300, cache_creation_input_tokens: 50 };

/** A turn with a retry, a call that a person allowed, a search in a call, and an answer. */
export function wholeTurn(turnId = "t_1", first = 1): Event[] {
  const make = recorder(turnId, first);
  const call = { iteration: 1, tool_call_id: "toolu_1" };
  return [
    make("turn_start", 0, { input: "What is 2+2?", model: "m", trace_id: "ab".repeat(16), queued_ms: 500 }),
    make("retrieval", 20, {
      query: "2+2", source: "memory", tokens: 12, duration_ms: 15, omitted: 1, omissions: [{ id: "m_9", reason: "budget" }],
      results: [{ id: "m_1", source: "memory", snippet: "Likes sums.", score: 0.8, lexical_rank: 2, vector_rank: 1 }],
    }),
    make("iteration_start", 30, { attempt: 1, model: "m", prefix_hash: "aa", components: { identity: "1", style: "2" } }, { iteration: 1 }),
    make("iteration_superseded", 130, { attempt: 1, reason: "upstream_overloaded", began: true, usage: USAGE }, { iteration: 1 }),
    make("iteration_start", 330, { attempt: 2, model: "m", prefix_hash: "aa" }, { iteration: 1 }),
    make("thinking", 380, { text: "Let me " }, { iteration: 1 }),
    make("thinking", 400, { text: "add." }, { iteration: 1 }),
    make("iteration_end", 530, { stop_reason: "tool_use", usage: USAGE, cost: 0.25, ttft_ms: 50, duration_ms: 200 }, { iteration: 1 }),
    make("tool_call", 531, { name: "add", arguments: { a: 2, b: 2 }, effect: "effectful", needs_approval: true }, call),
    make("approval_request", 532, { name: "add", arguments: { a: 2, b: 2 } }, call),
    make("approval_response", 2532, { decision: "approved", by: "ada", scope: "once" }, call),
    make("artifact", 2600, { ref: "ART-1", mime: "text/csv", size: 9, summary: "1 line" }, call),
    make("tool_result", 2632, {
      name: "add", status: "ok", content: "4", duration_ms: 100,
      steps: [{ step_id: "1", step_name: "parse", duration_ms: 40, timestamp: START + 2532 }, { step_id: "2", step_name: "sum", duration_ms: 10, error: "no", timestamp: START + 2580 }],
    }, call),
    make("iteration_start", 2640, { attempt: 1, model: "m", prefix_hash: "aa" }, { iteration: 2 }),
    make("text", 2700, { text: "It is " }, { iteration: 2 }),
    make("text", 2710, { text: "four." }, { iteration: 2 }),
    make("iteration_end", 2740, { stop_reason: "end_turn", usage: USAGE, duration_ms: 100 }, { iteration: 2 }),
    make("done", 2741, { status: "completed", usage: { ...USAGE, output_tokens: 60 }, iterations: 2, duration_ms: 2741 }),
  ];
}
