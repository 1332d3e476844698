import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { ALL, EventRows, FilteredRows, gistOf } from "./event-rows";
import { recorder, wholeTurn } from "./recorded";

const taken = (events = wholeTurn()) => {
  const rows = new EventRows();
  rows.take(events);
  return rows;
};
const found = (rows: EventRows, filter: Partial<typeof ALL>) => {
  const filtered = new FilteredRows(rows, { ...ALL, ...filter });
  while (!filtered.look()) { /* slice by slice */ }
  return filtered.found.flatMap((place) => rows.rows[place] ?? []);
};
const typesFound = (rows: EventRows, filter: Partial<typeof ALL>) => found(rows, filter).map(({ type }) => type);

describe("the rows of a log", () => {
  it("join pieces of one text that follow each other", () => {
    const { rows } = taken();
    expect(rows.map(({ type, start, end }) => end - start > 1 ? `${type} x${end - start}` : type)).toEqual([
      "turn_start", "retrieval", "iteration_start", "iteration_superseded", "iteration_start", "thinking x2", "iteration_end",
      "tool_call", "approval_request", "approval_response", "artifact", "tool_result", "iteration_start", "text x2",
      "iteration_end", "done",
    ]);
  });

  it("are the same whether events come at once or one by one", () => {
    const events = wholeTurn(), rows = new EventRows();
    for (let count = 1; count <= events.length; count += 1) rows.take(events.slice(0, count));
    expect(rows.rows).toEqual(taken().rows);
    expect(rows.generation).toBe(0);
  });

  it("are the same however many events come before them, or after, and those that were there stay", () => {
    const events = wholeTurn(), all = taken();
    fc.assert(fc.property(fc.array(fc.nat(events.length), { maxLength: 6 }), fc.nat(events.length), fc.constantFrom("", "four", "e"), (cuts, place, query) => {
      const rows = new EventRows(), filtered = new FilteredRows(rows, { ...ALL, query });
      let first = place, end = place;
      for (const cut of [...cuts, 0, events.length]) {
        if (cut < first) first = cut;
        else end = Math.max(end, cut);
        rows.take(events.slice(first, end));
        while (!filtered.look()) { /* slice by slice */ }
      }
      expect(rows.rows.map((row) => rows.eventsOf(row))).toEqual(all.rows.map((row) => all.eventsOf(row)));
      expect(filtered.found.map((each) => rows.rows[each]?.seq)).toEqual(found(all, { query }).map(({ seq }) => seq));
      expect([rows.types(), rows.generation]).toEqual([expect.arrayContaining([...all.types()]), 0]);
    }));
  });

  it("are made anew for another log", () => {
    const events = wholeTurn(), rows = new EventRows();
    rows.take(events.slice(5));
    rows.take(wholeTurn());
    expect(rows.rows).toEqual(taken().rows);
    expect(rows.generation).toBe(1);
  });

  it("are counted by type", () => {
    expect(taken().types().slice(0, 2)).toEqual([["iteration_start", 3], ["thinking", 2]]);
  });
});

describe("the filter", () => {
  it("takes the types that are chosen", () => {
    expect(typesFound(taken(), { types: new Set(["done", "tool_call"]) })).toEqual(["tool_call", "done"]);
  });

  it("takes the events of one turn", () => {
    const events = [...wholeTurn(), ...wholeTurn("t_2", 19)];
    expect(typesFound(taken(events), { turnId: "t_2", types: new Set(["done"]) })).toEqual(["done"]);
  });

  it("finds words that lie across two pieces", () => {
    expect(typesFound(taken(), { query: "is FOUR" })).toEqual(["text"]);
  });

  it("finds what is anywhere in an event", () => {
    expect(typesFound(taken(), { query: "upstream_over" })).toEqual(["iteration_superseded"]);
  });

  it("goes on with what comes, and looks again at a row that grew", () => {
    const events = wholeTurn(), rows = new EventRows();
    const filtered = new FilteredRows(rows, { ...ALL, query: "is four" });
    for (let count = 1; count <= events.length; count += 1) {
      rows.take(events.slice(0, count));
      while (!filtered.look()) { /* slice by slice */ }
    }
    expect(filtered.found.map((place) => rows.rows[place]?.type)).toEqual(["text"]);
  });

  it("begins anew when older events came", () => {
    const events = wholeTurn(), rows = new EventRows();
    const filtered = new FilteredRows(rows, { ...ALL, types: new Set(["turn_start", "done"]) });
    rows.take(events.slice(4));
    filtered.look();
    rows.take(events);
    filtered.look();
    expect(filtered.found.map((place) => rows.rows[place]?.type)).toEqual(["turn_start", "done"]);
  });

  it("stops after a slice of a long log, and goes on from there", () => {
    const make = recorder();
    const events = Array.from({ length: 100 }, () => make("warning", 0, { code: "x", message: "needle" }));
    const rows = taken(events), filtered = new FilteredRows(rows, { ...ALL, query: "needle" });
    let clock = 0;
    expect(filtered.look(() => clock += 5)).toBe(false);
    expect(filtered.found.length).toBeGreaterThan(0);
    expect(filtered.share).toBeLessThan(1);
    while (!filtered.look(() => clock += 5)) { /* slice by slice */ }
    expect(filtered.found).toHaveLength(100);
  });
});

describe("the gist of an event", () => {
  it("is a line, with the client of others that asked, also of types that are not known", () => {
    const make = recorder();
    expect(gistOf("tool_call", [make("tool_call", 0, { name: "add", arguments: { a: 1 } })])).toBe("add · {\"a\":1}");
    expect(gistOf("turn_start", [make("turn_start", 0, { input: "hi", model: "m" })])).toBe("hi");
    expect(gistOf("turn_start", [make("turn_start", 0, { input: "hi", model: "m", dialect: "ag-ui" })])).toBe("ag-ui · hi");
    expect(gistOf("applause", [make("applause", 0, { loud: true })])).toBe("{\"loud\":true}");
  });
});
