import { describe, expect, it } from "vitest";

import { costText, daysOf, monthBeside, monthText } from "./months";

const words = { unknown: "unknown", atLeast: (cost: string) => `at least ${cost}` };
const money = (dollars: number) => `$${dollars}`;

describe("months", () => {
  it("follow each other over the end of a year", () => {
    expect([monthBeside("2026-12", 1), monthBeside("2027-01", -1), monthBeside("2026-11", -24)]).toEqual(["2027-01", "2026-12", "2024-11"]);
  });

  it("have all their days, also in a leap year", () => {
    expect(daysOf("2028-02").length).toBe(29);
    expect(daysOf("2026-11").at(-1)).toBe("2026-11-30");
  });

  it("are named in the reader's language, whatever their time zone", () => {
    expect(monthText("2026-11", "en-US")).toBe("November 2026");
    expect(monthText("2026-11", "zh-Hans-CN")).toBe("2026年11月");
  });
});

describe("a cost", () => {
  it("that nobody knows is not 0", () => {
    expect(costText({ unpriced: 2 }, words, money)).toBe("unknown");
  });

  it("of which a part is known is at least that", () => {
    expect(costText({ cost: 3, unpriced: 1 }, words, money)).toBe("at least $3");
    expect(costText({ cost: 0, unpriced: 0 }, words, money)).toBe("$0");
  });
});
