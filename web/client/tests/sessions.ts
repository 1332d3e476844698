// Sessions as logs may have them, made up.

import fc from "fast-check";

import type { Event } from "../src/index.js";

type Said = Pick<Event, "type"> & { turn_id: string; iteration?: number; tool_call_id?: string; data: object };

const TEXT = fc.constantFrom("", "Hello", "，世界", "👩‍🚀", "\n\n- a", "```");
const WORDS = fc.constantFrom("a", "b");

/** What a turn may go through between its first and its last event. */
const STEP = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom("text", "thinking"), text: TEXT }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("call"), id: fc.constantFrom("c1", "c2", "c3"), client: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("progress", "result", "asked", "decided"), id: fc.constantFrom("c1", "c2", "c3") }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("memory", "artifact", "retrieval", "skill", "warning"), id: fc.option(fc.constantFrom("c1", "c2")) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("start", "end", "superseded", "error", "future"), text: WORDS }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("compression"), phase: fc.constantFrom("started", "completed", "failed") }) },
  { weight: 1, arbitrary: fc.constant({ kind: "withdrawn" }) },
);
const END = fc.constantFrom("completed", "failed", "cancelled", "limit_reached", "interrupted");
const BESIDE = fc.oneof(
  fc.record({ kind: fc.constantFrom("memory", "title") }),
  fc.record({ kind: fc.constant("feedback"), turn: fc.nat(20) }),
  fc.record({ kind: fc.constant("compression"), phase: fc.constantFrom("started", "completed", "failed"), operation: fc.nat(2) }),
);
const TURN = fc.record({ steps: fc.array(STEP, { maxLength: 12 }), end: END, parent: fc.option(fc.nat(20)), beside: fc.array(BESIDE, { maxLength: 3 }) });

interface Step { kind: string; text?: string; id?: string | null; client?: boolean; phase?: string }
interface Beside { kind: string; turn?: number; phase?: string; operation?: number }

/** A session from its first event on; the last turn may still run. */
export const SESSION: fc.Arbitrary<Event[]> = fc
  .record({ before: fc.array(BESIDE, { maxLength: 2 }), turns: fc.array(TURN, { minLength: 1, maxLength: 7 }), isOpen: fc.boolean() })
  .map(({ before, turns, isOpen }) => {
    const said: Said[] = [];
    const ids: string[] = [];
    const beside = (each: Beside): void => {
      if (each.kind === "feedback") {
        const turn_id = ids[(each.turn ?? 0) % Math.max(1, ids.length)];
        if (turn_id) said.push({ type: "feedback", turn_id, data: { rating: "up", of: "turn" } });
      } else {
        const data = each.kind === "compression" ? { phase: each.phase } : { op: "remembered", memory_id: "m", title: `${said.length}` };
        said.push({ type: each.kind, turn_id: `c_${each.operation ?? said.length}`, data });
      }
    };
    before.forEach(beside);
    turns.forEach(({ steps, end, parent, beside: after }, number) => {
      const turn_id = `t_${number}`;
      const at = parent === null ? undefined : parent % (ids.length + 1);
      const asked = at === undefined ? {} : { parent_turn_id: ids[at] ?? "root" };
      said.push({ type: "turn_start", turn_id, data: { input: turn_id, model: "m", trace_id: "", ...asked } });
      ids.push(turn_id);
      let waiting = 0;
      for (const step of steps as Step[]) {
        if (step.kind === "withdrawn") {
          const id = `t_${number}w${waiting += 1}`; // asked and taken back while this one runs
          said.push({ type: "turn_start", turn_id: id, data: { input: id, model: "m", trace_id: "" } });
          said.push({ type: "done", turn_id: id, data: { status: "cancelled", iterations: 0, duration_ms: 0 } });
        } else said.push(saidBy(turn_id, step));
      }
      if (isOpen && number === turns.length - 1) return;
      said.push({ type: "done", turn_id, data: { status: end, iterations: 1, duration_ms: 5 } });
      after.forEach(beside);
    });
    return said.map((each, index) => ({ v: 1, seq: index + 1, ts: 1000 + index, session_id: "s", ...each }) as unknown as Event);
  });

function saidBy(turn_id: string, { kind, text = "", id, client, phase }: Step): Said {
  const ofCall = id ? { tool_call_id: id } : {};
  const place = { turn_id, iteration: 1 };
  switch (kind) {
    case "text": case "thinking": return { type: kind, ...place, data: { text } };
    case "call": return { type: "tool_call", ...place, ...ofCall, data: { name: id, arguments: { a: 1 }, effect: "read_only", ...client && { runs_on: "client" } } };
    case "progress": return { type: "tool_progress", ...place, ...ofCall, data: { progress: 0.5 } };
    case "result": return { type: "tool_result", ...place, ...ofCall, data: { name: id, status: "ok", content: "", duration_ms: 1 } };
    case "asked": return { type: "approval_request", ...place, ...ofCall, data: { name: id, arguments: { a: 2 } } };
    case "decided": return { type: "approval_response", ...place, ...ofCall, data: { decision: "approved", by: "ada", arguments: { a: 3 } } };
    case "start": return { type: "iteration_start", ...place, data: { attempt: text === "a" ? 1 : 2, model: "m" } };
    case "end": return { type: "iteration_end", ...place, data: { duration_ms: 1 } };
    case "superseded": return { type: "iteration_superseded", ...place, data: { attempt: 1, reason: "upstream_error" } };
    case "error": return { type: "error", turn_id, data: { code: "internal", message: "", retryable: true } };
    case "future": return { type: "hologram", turn_id, data: { text } };
    case "compression": return { type: "compression", turn_id, data: { phase } };
    case "memory": return { type: kind, ...place, ...ofCall, data: { op: "remembered", memory_id: id ?? "m", kind } };
    default: return { type: kind, ...place, ...ofCall, data: { kind } };
  }
}
