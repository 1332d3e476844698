import { type Event, emptyConversation, reduceAll } from "@chat-gateway/client";
import { act, fireEvent, render, screen } from "@testing-library/react";
import { Profiler } from "react";
import { expect, it } from "vitest";

import { app, NOTHING } from "../state";
import { TurnView } from "./TurnView";

let seq = 0;
const event = (turn_id: string, type: string, data: object): Event =>
  ({ v: 1, seq: (seq += 1), type, ts: seq, session_id: "s", turn_id, iteration: 1, data }) as unknown as Event;
const begun = (turn: string) => [event(turn, "turn_start", { input: turn, model: "m", trace_id: "" }), event(turn, "iteration_start", { attempt: 1, model: "m" })];

it("of a turn of very many parts the first and the newest ones are drawn, and those that wait for somebody; the others when they are asked for", () => {
  const warn = (from: number, count: number) => Array.from({ length: count }, (_, place) => event("many", "warning", { code: "tool_failed", message: `Warning ${from + place}.` }));
  const call = (id: string, type: string, data: object): Event => ({ ...event("many", type, data), tool_call_id: id });
  const events = [
    ...begun("many"), ...warn(0, 600),
    call("ran", "tool_call", { name: "read_it", arguments: {}, effect: "read_only" }),
    call("ran", "tool_result", { name: "read_it", status: "ok", content: "it", duration_ms: 1 }),
    call("waits", "tool_call", { name: "delete_it", arguments: {}, effect: "effectful" }),
    call("waits", "approval_request", { name: "delete_it", arguments: {} }),
    call("runs", "tool_call", { name: "find_it", arguments: {}, effect: "read_only" }),
    ...warn(600, 399),
  ];
  app.set({ ...NOTHING, state: "ready", conversation: reduceAll(emptyConversation(), events) });
  const { container } = render(<TurnView session="s" id="many" position={1} count={1} />);
  const said = () => [...container.querySelectorAll(".answer .note.warning")].map((note) => Number(/\d+/.exec(note.textContent)?.[0]));
  const called = () => [...container.querySelectorAll(".call summary b")].map(({ textContent }) => textContent);
  const from = (start: number, end: number) => Array.from({ length: end - start }, (_, place) => start + place);

  expect(said()).toEqual([...from(0, 200), ...from(799, 999)]);
  expect(called()).toEqual(["delete_it", "find_it"]);
  expect(screen.getByRole("button", { name: "Approve" })).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "Show more" }));
  expect(said()).toEqual([...from(0, 600), ...from(799, 999)]);
  fireEvent.click(screen.getByRole("button", { name: "Show all 1,002" }));
  expect(said()).toEqual(from(0, 999));
  expect(called()).toEqual(["read_it", "delete_it", "find_it"]);
});

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
