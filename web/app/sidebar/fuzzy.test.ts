import { expect, test } from "vitest";

import { best, fit } from "./fuzzy";
import { markedSpans } from "./highlight";

const names = ["New chat", "Export this chat", "Memory", "Settings", "Archived chats", "Go to the next chat"];
const found = (typed: string) => best(names, typed, (name) => name).map(({ choice }) => choice);
const shown = (name: string, typed: string) =>
  markedSpans(name, fit(name, typed)?.ranges ?? []).map(({ text, hit }) => hit ? `[${text}]` : text).join("");

test("all choices are there in their order while nothing is typed", () => {
  expect(found("  ")).toEqual(names);
});

test("letters fit in their order, and the beginnings of words count most", () => {
  expect(found("nc")[0]).toBe("New chat");
  expect(shown("New chat", "nc")).toBe("[N]ew [c]hat");
  expect(found("etc")[0]).toBe("Export this chat");
  expect(found("zz")).toEqual([]);
});

test("a whole word comes before scattered letters", () => {
  expect(best(["met every mory", "Memory"], "memory", (name) => name)[0]?.choice).toBe("Memory");
  expect(shown("A memo of memory", "memory")).toBe("A memo of [memory]");
});

test("words fit in any order", () => {
  expect(found("chat next")).toEqual(["Go to the next chat"]);
});

test("Chinese fits by its characters", () => {
  expect(shown("导出本会话", "会话")).toBe("导出本[会话]");
  expect(shown("显示已归档的会话", "归会")).toBe("显示已[归]档的[会]话");
});

test("a long name takes no long time", () => {
  expect(fit("a".repeat(10_000), "ab".repeat(50))).toBeNull();
});
