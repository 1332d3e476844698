import { expect, it } from "vitest";

import { cost, duration, money, pretty } from "./numbers";
import { NOTHING_SPENT } from "./usage";

const words = { unknown: "unknown", atLeast: (known: string) => `at least ${known}` };

it.each([[0, "0 ms"], [999.6, "1.00 s"], [1250, "1.25 s"], [12_340, "12.3 s"], [59_999, "1:00 min"], [200_000, "3:20 min"], [3_725_000, "1:02:05 h"]])(
  "a duration of %d ms is written %s", (ms, text) => expect(duration(ms)).toBe(text));

it.each([[0, "$0"], [1.254, "$1.25"], [0.0098, "$0.0098"], [0.25, "$0.25"], [0.00000123, "$0.0000012"]])(
  "%d dollars are written %s", (dollars, text) => expect(money(dollars)).toBe(text));

it("never writes a cost that is not known as 0", () => {
  expect(cost({ ...NOTHING_SPENT, calls: 1, unpriced: 1 }, words)).toBe("unknown");
  expect(cost({ ...NOTHING_SPENT, calls: 2, unpriced: 1, cost: 0.5 }, words)).toBe("at least $0.50");
  expect(cost({ ...NOTHING_SPENT, calls: 1 }, words)).toBe("$0");
});

it("cuts JSON that is too long to be read", () => {
  expect(pretty({ a: "x".repeat(50_000) })).toHaveLength(20_001);
});
