import { type Event, emptyConversation, reduceAll } from "@chat-gateway/client";
import { act, render } from "@testing-library/react";
import { Profiler } from "react";
import { expect, it } from "vitest";

import { app, NOTHING } from "../state";
import { TurnView } from "./TurnView";

let seq = 0;
const event = (turn_id: string, type: string, data: object): Event =>
  ({ v: 1, seq: (seq += 1), type, ts: seq, session_id: "s", turn_id, iteration: 1, data }) as unknown as Event;
const begun = (turn: string) => [event(turn, "turn_start", { input: turn, model: "m", trace_id: "" }), event(turn, "iteration_start", { attempt: 1, model: "m" })];

it("a turn is not drawn anew while another one streams, nor are the parts of that which stand already", async () => {
  const conversation = reduceAll(emptyConversation(), [
    ...begun("old"), event("old", "text", { text: "said" }), event("old", "done", { status: "completed", iterations: 1, duration_ms: 1 }),
    ...begun("new"), event("new", "warning", { code: "tool_failed", message: "Careful." }), event("new", "text", { text: "one " }),
  ]);
  app.set({ ...NOTHING, state: "ready", conversation });
  const drawn: string[] = [];
  const { container } = render(["old", "new"].map((id, place) => (
    <Profiler key={id} id={id} onRender={() => drawn.push(id)}><TurnView session="s" id={id} position={place + 1} count={2} /></Profiler>
  )));
  const [warning] = container.querySelectorAll(".note");
  expect(warning).toBeDefined();
  drawn.length = 0;

  for (let piece = 0; piece < 20; piece += 1) {
    await act(() => {
      app.set({ conversation: reduceAll(app.get().conversation, [event("new", "text", { text: "more " })]) });
      return Promise.resolve();
    });
  }

  expect(drawn.filter((id) => id === "old")).toEqual([]);
  expect(drawn.length).toBeGreaterThanOrEqual(20);
  expect(container.querySelector('[data-turn="new"] .answer')?.textContent).toContain("more more");
  expect(container.querySelectorAll(".note")[0]).toBe(warning);
});
