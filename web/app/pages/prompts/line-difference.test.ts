import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { linesOf } from "./line-difference";

const text = fc.array(fc.constantFrom("a", "b", "", "你好"), { maxLength: 12 }).map((lines) => lines.join("\n"));

describe("the difference of two texts", () => {
  it("has all lines of both, in their order", () => {
    fc.assert(fc.property(text, text, (before, after) => {
      const lines = linesOf(before, after);
      expect(lines.filter(({ mark }) => mark !== "+").map((line) => line.text).join("\n")).toBe(before);
      expect(lines.filter(({ mark }) => mark !== "-").map((line) => line.text).join("\n")).toBe(after);
    }));
  });

  it("names only what differs", () => {
    expect(linesOf("one\ntwo\nthree", "one\n2\nthree").map(({ mark }) => mark).join("")).toBe(" -+ ");
    expect(linesOf("same", "same")).toEqual([{ mark: " ", text: "same" }]);
  });

  it("of very long texts ends soon", () => {
    const long = (word: string) => Array.from({ length: 20_000 }, (_, line) => `${word} ${line}`).join("\n");
    expect(linesOf(long("a"), long("b")).length).toBe(40_000);
  });
});
