// @vitest-environment node

import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";

import { emptyConversation, openTurn, PersistentMap, prepend, reduce, reduceAll, show } from "../src/index.js";
import type { Event } from "../src/index.js";
import { from, plain, recorded, recordings } from "./plain.js";
import { SESSION } from "./sessions.js";
import "./setup.js";

const CUTS = fc.array(fc.nat(100), { maxLength: 6 }).map((cuts) => cuts.sort((a, b) => a - b));

/** Pages cut at these places, the last one first, give after each what all events from there on give at once. */
function cutsMakeNoDifference(events: readonly Event[], cuts: readonly number[]): void {
  const places = [...new Set([0, ...cuts.filter((cut) => cut < events.length), events.length])];
  let conversation = emptyConversation();
  for (let page = places.length - 2; page >= 0; page -= 1) {
    conversation = prepend(conversation, events.slice(places[page], places[page + 1]));
    expect(plain(conversation)).toEqual(plain(from(events.slice(places[page]))));
  }
}

const LOOKING = ["slice", "forEach", "some", "every", "filter", "map", "flatMap", "find", "findIndex", "findLast", "findLastIndex", "includes", "indexOf", "reduce"] as const;

/** How many elements of arrays are copied or gone through, or may be, while `act` runs. */
function elementsSeen(act: () => void): number {
  let count = 0;
  const prototype = Array.prototype as unknown as Record<PropertyKey, (...given: unknown[]) => unknown>;
  const originals = [...LOOKING, Symbol.iterator].map((name) => [name, prototype[name]] as const);
  for (const [name, original] of originals) {
    prototype[name] = function (this: unknown[], ...given: unknown[]) {
      count += this.length;
      return Reflect.apply(original as () => unknown, this, given);
    };
  }
  try {
    act();
  } finally {
    for (const [name, original] of originals) if (original) prototype[name] = original;
  }
  return count;
}

describe("a conversation", () => {
  test("is the same however its pages, going backwards, are cut", () => {
    fc.assert(fc.property(SESSION, CUTS, fc.nat(100), (events, cuts, end) => {
      cutsMakeNoDifference(events.slice(0, Math.max(1, events.length - end % 10)), cuts);
    }), { numRuns: 300 });
  });

  test.each(recordings)("of the recorded session %s is the same however it is cut", (name) => {
    const events = recorded(name);
    fc.assert(fc.property(fc.array(fc.nat(events.length), { maxLength: 6 }), (cuts) => {
      cutsMakeNoDifference(events, cuts.sort((a, b) => a - b));
    }), { numRuns: 20 });
  });

  test("does not change by events that it has", () => {
    fc.assert(fc.property(SESSION, fc.nat(100), (events, place) => {
      const conversation = from(events);
      expect(reduceAll(conversation, events.slice(place % events.length))).toBe(conversation);
      expect(prepend(conversation, events)).toBe(conversation);
    }));
  });

  test("goes on live behind a page that was prepended", () => {
    fc.assert(fc.property(SESSION, fc.nat(100), fc.nat(100), (events, one, other) => {
      const [first, second] = [one % events.length, other % events.length].sort((a, b) => a - b) as [number, number];
      const late = prepend(from(events.slice(first, second)), events.slice(0, first));
      expect(plain(reduceAll(late, events.slice(second)))).toEqual(plain(from(events)));
    }));
  });

  test("keeps the branch that is shown while older pages come", () => {
    fc.assert(fc.property(SESSION, CUTS, fc.nat(100), (events, cuts, number) => {
      const [cut = 0] = cuts.map((each) => each % events.length);
      const known = from(events.slice(cut));
      const ids = [...known.turns].filter(([, turn]) => turn.place === "branch").map(([id]) => id);
      const other = show(known, ids[number % ids.length] ?? "");
      fc.pre(other.tip !== known.newest);
      expect(plain(prepend(other, events.slice(0, cut)))).toEqual(plain(show(from(events), other.tip ?? "")));
    }), { numRuns: 300 });
  });

  test("looks up as many turns for a page that is prepended, however many are known", () => {
    const lookups = (turns: number): number => {
      const events = Array.from({ length: 2 * turns }, (_, at): Event => ({
        v: 1, seq: at + 1, ts: at, session_id: "s", turn_id: `t${at >> 1}`,
        ...at % 2 ? { type: "done", data: { status: "completed", iterations: 1 } } : { type: "turn_start", data: { input: "" } },
      }));
      const known = from(events.slice(101));
      const get = vi.spyOn(PersistentMap.prototype, "get");
      try {
        expect(prepend(known, events.slice(0, 101)).path).toHaveLength(turns);
        return get.mock.calls.length;
      } finally {
        get.mockRestore();
      }
    };
    expect(lookups(5_000)).toBe(lookups(100));
  });

  test("leaves untouched what an event does not change", () => {
    fc.assert(fc.property(SESSION, (events) => {
      let conversation = emptyConversation();
      for (const event of events) {
        const before = conversation;
        const frozen = JSON.stringify(plain(before));
        conversation = reduce(before, event);
        expect(JSON.stringify(plain(before))).toBe(frozen);
        for (const [id, turn] of before.turns) if (id !== event.turn_id) expect(conversation.turns.get(id)).toBe(turn);
        if (event.type === "text" && before.turns.has(event.turn_id)) expect(conversation.path).toBe(before.path);
      }
    }));
  });

  const MANY = 20_000;
  const ofOneTurn = (say: (number: number) => Partial<Event> & { data: object }): Event[] => Array.from({ length: MANY }, (_, number) => ({
    v: 1, seq: number + 1, ts: number, session_id: "s", turn_id: "t", ...number === 0 ? { type: "turn_start", data: { input: "" } } : say(number),
  }) as unknown as Event);

  test.each([
    ["warnings", () => ({ type: "warning", data: { code: "a", message: "" } })],
    ["warnings of a call", (number: number) => number === 1 ? { type: "tool_call", tool_call_id: "c", data: { name: "a", arguments: {} } }
      : { type: "warning", tool_call_id: "c", data: { code: "a", message: "" } }],
    ["pieces of text behind a warning", (number: number) => number % 2 ? { type: "warning", data: { code: "a", message: "" } } : { type: "text", data: { text: "a" } }],
    ["calls and their results", (number: number) => number % 2 ? { type: "tool_call", tool_call_id: `c${number}`, data: { name: "a", arguments: {} } }
      : { type: "tool_result", tool_call_id: `c${number - 1}`, data: { name: "a", status: "ok" } }],
    ["artifacts", () => ({ type: "artifact", data: { ref: "a" } })],
    ["turns", (number: number) => ({ turn_id: `t${number}`, type: "turn_start", data: { input: "" } })],
  ])("of very many %s looks at each of them a few times", (_, say) => {
    const events = ofOneTurn(say);
    const looked = elementsSeen(() => reduceAll(emptyConversation(), events));
    expect(looked).toBeLessThan(300 * MANY); // nodes of maps; all parts for each event would be 10,000 of them
  });

  test("shows any turn in a branch that ends at a newest turn", () => {
    fc.assert(fc.property(SESSION, fc.nat(100), (events, number) => {
      const conversation = from(events);
      const turns = [...conversation.turns].filter(([, turn]) => turn.place === "branch");
      const [id, turn] = turns[number % turns.length] ?? ["", undefined];
      const shown = show(conversation, id);
      expect(shown.path).toContain(id);
      expect(shown.children.get(shown.tip ?? "")).toBeUndefined();
      if (turn && turn.parentId !== "root") expect(shown.path).toContain(turn.parentId);
      expect(openTurn(shown)).toBe(openTurn(conversation));
    }));
  });
});
