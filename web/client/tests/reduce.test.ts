// @vitest-environment node

import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { emptyConversation, openTurn, PersistentMap, prepend, reduce, reduceAll, show } from "../src/index.js";
import type { Conversation, Event } from "../src/index.js";
import { SESSION } from "./sessions.js";
import "./setup.js";

/** A conversation as plain data, in which equal ones are equal. */
function plain(conversation: Conversation): object {
  const entries = Object.entries(conversation).map(([name, value]: [string, unknown]): [string, unknown] =>
    [name, value instanceof PersistentMap ? Object.fromEntries([...value].sort(([a], [b]) => a < b ? -1 : 1)) : value]);
  return Object.fromEntries(entries);
}

const from = (events: readonly Event[]): Conversation => reduceAll(emptyConversation(), events);

const CUTS = fc.array(fc.nat(100), { maxLength: 6 }).map((cuts) => cuts.sort((a, b) => a - b));

describe("a conversation", () => {
  test("is the same however its pages, going backwards, are cut", () => {
    fc.assert(fc.property(SESSION, CUTS, fc.nat(100), (events, cuts, end) => {
      const last = events.slice(0, Math.max(1, events.length - end % 10));
      const places = [...new Set([0, ...cuts.filter((cut) => cut < last.length), last.length])].sort((a, b) => a - b);
      let conversation = emptyConversation();
      for (let page = places.length - 2; page >= 0; page -= 1) {
        conversation = prepend(conversation, last.slice(places[page], places[page + 1]));
        expect(plain(conversation)).toEqual(plain(from(last.slice(places[page]))));
      }
    }), { numRuns: 300 });
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
