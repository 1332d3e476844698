import { describe, expect, it } from "vitest";

import { recorder, START, wholeTurn } from "./recorded";
import { type Row, timelineOf } from "./timeline";

const seen = (row: Row): string => row.kind === "tool" ? `tool ${row.name}` : row.kind === "step" ? `step ${row.step.step_name}` : row.kind;
const stretches = (row: Row | undefined) => row?.segments.map(({ kind, from, to }) => [kind, from - START, to - START]);
const rowsOf = (events = wholeTurn()) => timelineOf(events).rows;

describe("the timeline of a turn", () => {
  it("has a row for each thing that took time, those of a call below it", () => {
    expect(rowsOf().map((row) => `${row.depth} ${seen(row)}`)).toEqual([
      "0 queue", "0 retrieval", "0 model", "0 model", "0 tool add", "1 approval", "1 step parse", "1 step sum", "1 mark", "0 model",
    ]);
  });

  it("begins when the message came, before it waited in the queue", () => {
    const timeline = timelineOf(wholeTurn());
    expect([timeline.from - START, timeline.to - START, timeline.done?.status]).toEqual([-500, 2741, "completed"]);
  });

  it("is not longer for what a person said of it a day later", () => {
    const rated = recorder("t_1", 90)("feedback", 86_400_000, { rating: "up", of: "turn" });
    expect(timelineOf([...wholeTurn(), rated])).toEqual(timelineOf(wholeTurn()));
  });

  it("tells of a failed attempt why it does not count, and how long the next one was waited for", () => {
    const failed = rowsOf().find((row) => row.kind === "model");
    expect(failed).toMatchObject({ state: "superseded", reason: "upstream_overloaded", attempt: 1 });
    expect(stretches(failed)).toEqual([["answering", 30, 130], ["pausing", 130, 330]]);
  });

  it("divides a model call at its first piece, thinking included", () => {
    const [, second, third] = rowsOf().filter((row) => row.kind === "model");
    expect(stretches(second)).toEqual([["answering", 330, 380], ["writing", 380, 530]]);
    expect(stretches(third)).toEqual([["answering", 2640, 2700], ["writing", 2700, 2740]]);
  });

  it("counts the time that a person took apart from that of the tool", () => {
    const rows = rowsOf();
    expect(stretches(rows.find((row) => row.kind === "tool"))).toEqual([["deciding", 532, 2532], ["running", 2532, 2632]]);
    expect(stretches(rows.find((row) => row.kind === "approval"))).toEqual([["deciding", 532, 2532]]);
  });

  it("lets a search begin before its event, by the time that it took", () => {
    expect(stretches(rowsOf().find((row) => row.kind === "retrieval"))).toEqual([["running", 5, 20]]);
  });

  it("leaves open what still runs, until the newest event", () => {
    for (let count = 1; count < wholeTurn().length; count += 1) {
      const events = wholeTurn().slice(0, count);
      const { rows, to } = timelineOf(events);
      for (const row of rows.filter(({ open }) => open)) expect(row.to).toBe(to);
      for (const row of rows) for (const { from, to: end } of row.segments) expect(end).toBeGreaterThanOrEqual(from);
    }
    const waiting = rowsOf(wholeTurn().slice(0, 10));
    expect(waiting.filter(({ open }) => open).map(seen)).toEqual(["tool add", "approval"]);
    expect(stretches(waiting.find((row) => row.kind === "tool"))).toEqual([["deciding", 532, 532]]);
  });

  it("gives a call that was denied no time to run", () => {
    const make = recorder(), call = { tool_call_id: "c" };
    const rows = rowsOf([
      make("tool_call", 0, { name: "rm", arguments: {}, effect: "effectful" }, call),
      make("approval_request", 1, { name: "rm", arguments: {} }, call),
      make("approval_response", 9, { decision: "denied", by: "ada" }, call),
      make("tool_result", 10, { name: "rm", status: "denied", content: "", duration_ms: 0 }, call),
    ]);
    expect(stretches(rows[0])).toEqual([["deciding", 1, 9]]);
  });

  it("says that a model call was cut off when it ended without a reason, or was never ended", () => {
    const make = recorder();
    const [one, two] = rowsOf([
      make("iteration_start", 0, { attempt: 1, model: "m" }, { iteration: 1 }),
      make("iteration_start", 5, { attempt: 2, model: "m" }, { iteration: 1 }),
      make("iteration_end", 9, { duration_ms: 4 }, { iteration: 1 }),
    ]);
    expect([one, two]).toMatchObject([{ state: "cut", open: false }, { state: "cut", open: false }]);
  });

  it("joins the beginning of a compression and its end", () => {
    const make = recorder();
    const rows = rowsOf([make("compression", 0, { phase: "started" }), make("compression", 70, { phase: "completed", version: 2 })]);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ kind: "compression", open: false, data: { phase: "completed", version: 2 } });
    expect(stretches(rows[0])).toEqual([["running", 0, 70]]);
  });

  it("shows events of types that it does not know", () => {
    const make = recorder();
    expect(rowsOf([make("applause", 3, { loud: true })])).toMatchObject([{ kind: "mark", event: { type: "applause" } }]);
  });

  it("is empty without events", () => {
    expect(timelineOf([])).toEqual({ from: 0, to: 0, rows: [] });
  });
});
