import { expect, test } from "vitest";

import { languageOf } from "./language";

test.each([
  [["fr", "de"], "en"], [["zh"], "zh-Hans"], [["zh-CN"], "zh-Hans"], [["zh-TW", "en"], "zh-Hant"], [["zh-HK"], "zh-Hant"],
  [["zh-Hant-HK"], "zh-Hant"], [["zh-Hans-HK"], "zh-Hans"],
  [["fr", "zh-TW"], "zh-Hant"], [["en-GB", "zh"], "en"],
] as const)("a reader of %j is shown %s", (wanted, language) => {
  expect(languageOf(wanted)).toBe(language);
});
