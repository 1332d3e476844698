// @vitest-environment node

import { describe, expect, test } from "vitest";

import { answer, calls, emptyConversation, isExact, isKnown, reduce, reduceAll, show, versions } from "../src/index.js";
import type { Event, Part, Turn } from "../src/index.js";
import { from, lines, recorded, recordings, shown, turn } from "./plain.js";
import "./setup.js";

/** The turns that the branch shows of a session. */
const story = (events: readonly Event[]): Turn[] => shown(from(events));

function nth(turns: readonly Turn[], index: number): Turn {
  const found = turns[index];
  if (!found) throw new Error(`No turn at ${index}`);
  return found;
}

const kinds = (turn: Turn): string[] => turn.parts.map(({ kind }) => kind);

function of<K extends Part["kind"]>(turn: Turn, kind: K): Extract<Part, { kind: K }>[] {
  return turn.parts.filter((part): part is Extract<Part, { kind: K }> => part.kind === kind);
}

describe("a recorded session", () => {
  test.each(recordings)("%s has only types that are known, and ends each turn", (name) => {
    const events = recorded(name);
    expect(events.filter((event) => !isKnown(event))).toEqual([]);
    for (const [, { isOperation, outcome, state }] of from(events).turns) {
      expect(state).toBe(isOperation ? "completed" : outcome?.status);
    }
  });

  test.each(recordings)("%s shows the text of its winning attempts, byte for byte", (name) => {
    const texts = new Map<string, Map<number, string>>();
    for (const event of recorded(name)) {
      const ofTurn = texts.get(event.turn_id) ?? new Map<number, string>();
      texts.set(event.turn_id, ofTurn);
      const before = ofTurn.get(event.iteration ?? 0) ?? "";
      if (event.type === "text") ofTurn.set(event.iteration ?? 0, before + (event.data as { text: string }).text);
      if (event.type === "iteration_superseded") ofTurn.delete(event.iteration ?? 0);
    }
    for (const [id, turn] of from(recorded(name)).turns) {
      expect(of(turn, "text").map(({ text }) => text).join("")).toBe([...texts.get(id)?.values() ?? []].join(""));
    }
  });

  test("text: thinking stands before the answer, each in one part", () => {
    const [, second] = story(recorded("text"));
    expect(second && kinds(second)).toEqual(["thinking", "text"]);
    expect(second && answer(second)).toBe("**42**\n- 一\n- 二 👩‍🚀");
  });

  test("tools: calls keep their order, results, progress and what was looked up in them", () => {
    const [first, second] = story(recorded("tools")) as [Turn, Turn];
    const found = calls(first).map(({ name, state, parts }) => [name, state, parts.map(({ kind }) => kind)]);
    expect(found).toEqual([["search_docs", "ok", ["retrieval"]], ["calculate", "ok", []]]);
    expect(calls(second).map(({ state }) => state)).toEqual(["ok", "error", "ok"]);
    expect(calls(second)[2]?.progress).toEqual({ message: "3 of 3", progress: 1 });
    expect(kinds(second)).toEqual(["text", "call", "call", "text", "call", "text"]);
  });

  test.runIf(isExact)("tools: an integer that no double holds keeps its digits", () => {
    const [, second] = story(recorded("tools")) as [Turn, Turn];
    expect(JSON.stringify(calls(second)[2]?.arguments)).toBe('{"to":9007199254740993}');
  });

  test("approval: each call tells what was decided, by whom, and with what it ran", () => {
    const decided = story(recorded("approval")).map((turn) => {
      const [call] = calls(turn);
      return [call?.response?.decision, call?.response?.by, call?.state, call?.arguments.text];
    });
    expect(decided).toEqual([
      ["approved", "local", "ok", "one"], ["denied", "local", "denied", "one"], ["approved", "local", "ok", "two"],
      ["approved", "local", "ok", "one"], ["approved", "grant", "ok", "one"],
    ]);
  });

  test("approval: a turn waits from the question to the decision", () => {
    const events = recorded("approval");
    const asked = events.findIndex(({ type }) => type === "approval_request");
    const states = [asked - 1, asked, asked + 1].map((last) => story(events.slice(0, last + 1))[0]?.state);
    expect(states).toEqual(["running", "awaiting_approval", "running"]);
  });

  test("superseded: what an attempt had said leaves, and the attempt says why", () => {
    const [first, second] = story(recorded("superseded")) as [Turn, Turn];
    expect([answer(first), answer(second)]).toEqual(["This is the answer, all of it.", "Seen."]);
    expect(first.attempts.map(({ attempt, state, reason }) => [attempt, state, reason])).toEqual([
      [1, "superseded", "upstream_truncated"], [2, "ended", undefined],
    ]);
    const events = recorded("superseded");
    const taken = events.findIndex(({ type }) => type === "iteration_superseded");
    expect(story(events.slice(0, taken))[0]?.parts).toHaveLength(1);
    expect(story(events.slice(0, taken + 1))[0]?.parts).toHaveLength(0);
  });

  test("compression: made by hand it stands between the turns, one part from its start to its end", () => {
    const path = story(recorded("compression"));
    expect(path.map(({ isOperation }) => isOperation)).toEqual([false, false, false, false, false, false, true, false]);
    const parts = of(nth(path, 6), "compression");
    expect(parts.map(({ data }) => data.phase)).toEqual(["completed"]);
    const events = recorded("compression");
    const begun = events.findIndex(({ type }) => type === "compression");
    expect(from(events.slice(0, begun + 1)).compressing).toBe(begun + 1);
    expect(from(events).compressing).toBe(0);
  });

  test("memory: what a call changed is with the call, what was recalled with the turn", () => {
    const [first, second] = story(recorded("memory")) as [Turn, Turn];
    expect(calls(first)[0]?.parts.map((part) => part.kind === "memory" && part.data.op)).toEqual(["remembered"]);
    expect(of(second, "retrieval").map(({ data }) => data.source)).toEqual(["memory", "memory"]);
  });

  test("artifact: a large result is with its call, files with their message", () => {
    const [first, second] = story(recorded("artifact")) as [Turn, Turn];
    expect(calls(first)[0]?.parts.map(({ kind }) => kind)).toEqual(["artifact"]);
    expect(calls(first)[0]?.result?.artifact).toMatch(/^ART-/);
    expect(second.attachments.map(({ name }) => name)).toEqual(["notes.md"]);
  });

  test("cancel: what was said stays; a message that was taken back while it waited is in no branch", () => {
    const conversation = from(recorded("cancel"));
    const path = shown(conversation);
    expect(path.map(({ state, place }) => [state, place])).toEqual([
      ["cancelled", "branch"], ["cancelled", "beside"], ["completed", "branch"],
    ]);
    expect(answer(nth(path, 0))).not.toBe("");
    expect(path[2]?.parentId).toBe(path[0]?.id);
  });

  test("error: why a turn failed, and at which limit another one ended", () => {
    const path = story(recorded("error"));
    expect(path.map(({ state, error }) => [state, error?.code])).toEqual([
      ["failed", "upstream_auth"], ["failed", "upstream_error"], ["limit_reached", undefined], ["completed", undefined],
    ]);
    expect(of(nth(path, 2), "warning").map(({ data }) => data.code)).toEqual(["max_iterations"]);
  });

  test("interrupt: each message is answered, the interrupted one as far as it went", () => {
    expect(story(recorded("interrupt")).map(({ state }) => state)).toEqual(["cancelled", "completed", "completed"]);
  });

  test("branches: versions of a message, and the way to each of them", () => {
    const conversation = from(recorded("branches"));
    const [one, two, anew, changed, three, first, more] = conversation.order.map((id) => turn(conversation, id)) as [Turn, Turn, Turn, Turn, Turn, Turn, Turn];
    expect(conversation.path).toEqual([more.id]);
    expect(versions(conversation, two)).toEqual([two.id, anew.id, changed.id]);
    expect(versions(conversation, one)).toEqual([one.id, more.id]);
    expect(show(conversation, two.id).path).toEqual([one.id, two.id, first.id]);
    expect(show(conversation, changed.id).path).toEqual([one.id, changed.id, three.id]);
    expect(show(conversation, one.id).tip).toBe(three.id);
    expect([one, two].map(({ feedback }) => feedback?.rating)).toEqual([undefined, "down"]);
  });

  test("client_tool: a call waits for this client, and has its result", () => {
    const events = recorded("client_tool");
    const ours = events.findIndex(({ type }) => type === "tool_call");
    const waiting = nth(story(events.slice(0, ours + 3)), 0);
    expect([waiting.state, calls(waiting).map(({ state }) => state)]).toEqual(["awaiting_tool_result", ["awaiting_result", "ok"]]);
    expect(story(events).map((turn) => calls(turn)[0]?.state)).toEqual(["ok", "error"]);
  });

  test.each(recordings)("%s has events of a later version kept as they came", (name) => {
    const [first] = recorded(name) as [Event];
    const late = { v: 1, seq: lines(name).length + 1, ts: 1, type: "hologram", session_id: first.session_id, turn_id: first.turn_id, data: { depth: 3 } };
    const before = from(recorded(name));
    const after = reduce(before, late);
    expect(of(turn(after, first.turn_id), "unknown").map(({ event }) => event)).toEqual([late]);
    expect(reduceAll(emptyConversation(), [late]).turns.get(first.turn_id)?.isWhole).toBe(false);
  });
});
