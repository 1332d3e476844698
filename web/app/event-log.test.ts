import fc from "fast-check";
import { expect, test, vi } from "vitest";

import type { Event } from "@chat-gateway/client";
import { EventLog } from "./event-log";

const event = (seq: number): Event => ({ v: 1, seq, type: "text", ts: seq, session_id: "s", turn_id: "t", data: { text: "" } });
const some = (count: number, from = 1): Event[] => Array.from({ length: count }, (_, place) => event(from + place));

test("a log is what an array of its events is, and stays so whatever comes of it later", () => {
  const changes = fc.array(fc.record({ kind: fc.constantFrom("with", "behind", "upTo"), count: fc.nat(5) }), { maxLength: 12 });
  fc.assert(fc.property(changes, fc.integer({ min: -9, max: 9 }), fc.integer({ min: -9, max: 9 }), (all, one, other) => {
    const made: [EventLog, readonly Event[]][] = [[EventLog.of([]), []]];
    for (const { kind, count } of all) {
      const [log, events] = made[count % made.length] ?? [EventLog.of([]), []];
      const more = some(count, events.length);
      if (kind === "with") made.push([log.with(more), [...events, ...more]]);
      else if (kind === "behind") made.push([log.behind(more), [...more, ...events]]);
      else made.push([log.upTo(count), events.slice(0, count)]);
    }
    for (const [log, events] of made) {
      expect([[...log], log.length, log.at(one), log.slice(one, other)]).toEqual([events, events.length, events.at(one), events.slice(one, other)]);
    }
  }));
});

test("a log that grows at its end is not copied", () => {
  let log = EventLog.of(some(10_000));
  const copying = vi.spyOn(Array.prototype, "slice");
  for (let count = 0; count < 100; count += 1) log = log.with(some(3));
  expect(copying).not.toHaveBeenCalled();
  expect(log.length).toBe(10_300);
});
