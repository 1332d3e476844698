import { describe, expect, it } from "vitest";

import { axisOf } from "./axis";
import { START, wholeTurn } from "./recorded";
import { timelineOf } from "./timeline";

describe("the axis", () => {
  it("goes from the message to the newest event", () => {
    const axis = axisOf(timelineOf(wholeTurn()), false);
    expect([axis.place(START - 500), axis.place(START + 2741), axis.length]).toEqual([0, 1, 3241]);
  });

  it("leaves out what was waited for a person and in the queue, when nothing else went on", () => {
    const axis = axisOf(timelineOf(wholeTurn()), true);
    expect([axis.leftOut, axis.length]).toEqual([2500, 741]);
    expect(axis.place(START + 532)).toBe(axis.place(START + 2532));
    expect(axis.place(START + 2741)).toBe(1);
  });

  it("keeps what ran meanwhile", () => {
    const segments = [{ kind: "deciding", from: 0, to: 100 }, { kind: "running", from: 20, to: 50 }] as const;
    const rows = [{ kind: "queue", key: "1", depth: 0, from: 0, to: 100, open: false, segments }] as const;
    expect(axisOf({ from: 0, to: 100, rows }, true)).toMatchObject({ leftOut: 70, length: 30 });
  });

  it("has a width when nothing took time", () => {
    expect(axisOf({ from: 5, to: 5, rows: [] }, true).place(5)).toBe(0);
  });
});
