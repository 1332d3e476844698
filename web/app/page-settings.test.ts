import { expect, test } from "vitest";

import { inLanguage } from "./page-settings";

test("a text for all is everybody's", () => {
  expect(inLanguage("Hello", "zh-Hans")).toBe("Hello");
  expect(inLanguage(["a"], "en")).toEqual(["a"]);
  expect(inLanguage([], "en")).toEqual([]);
});

test("a reader is given their language, then the one nearest to it, then any", () => {
  const greeting = { en: "Hello", "zh-Hans": "你好" };
  expect(inLanguage(greeting, "zh-Hans")).toBe("你好");
  expect(inLanguage(greeting, "zh-Hant")).toBe("你好");
  expect(inLanguage({ "zh-Hant": "您好" }, "en")).toBe("您好");
  expect(inLanguage({ en: "Hello" }, "zh-Hant")).toBe("Hello");
});

test("where nothing is set the page has its own words", () => {
  expect(inLanguage<string>(null, "en")).toBeNull();
});
