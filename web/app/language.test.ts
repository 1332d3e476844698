import { expect, test } from "vitest";

import { inARow, languageOf } from "./language";

test.each([
  [["fr", "de"], "en"], [["zh"], "zh-Hans"], [["zh-CN"], "zh-Hans"], [["zh-TW", "en"], "zh-Hant"], [["zh-HK"], "zh-Hant"],
  [["zh-Hant-HK"], "zh-Hant"], [["zh-Hans-HK"], "zh-Hans"],
  [["fr", "zh-TW"], "zh-Hant"], [["en-GB", "zh"], "en"],
] as const)("a reader of %j is shown %s", (wanted, language) => {
  expect(languageOf(wanted)).toBe(language);
});

test("no space follows the full stop of a Chinese sentence", () => {
  expect(inARow("开关对所有人生效。", "MCP 来自设置。")).toBe("开关对所有人生效。MCP 来自设置。");
  expect(inARow("A switch holds for all.", "It is kept.")).toBe("A switch holds for all. It is kept.");
});
