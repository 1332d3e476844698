import { expect, test } from "vitest";

import { markedSpans, marked } from "./highlight";

const shown = (text: string, query: string) => marked(text, query).map(({ text: piece, hit }) => hit ? `[${piece}]` : piece).join("");

test("words are marked in any case, from their beginning", () => {
  expect(shown("The Heron sees a heron; no sheron.", "heron")).toBe("The [Heron] sees a [heron]; no sheron.");
});

test("other endings of a word are marked, other words are not", () => {
  expect(shown("I search, she searched; a researcher, a search-engine, Searching", "searches")).toBe(
    "I [search], she [searched]; a researcher, a [search]-engine, [Searching]",
  );
  expect(shown("a storyboard", "stores")).toBe("a storyboard");
});

test("Chinese is marked where it stands", () => {
  expect(shown("我喜欢简约的设计风格", "设计 风格")).toBe("我喜欢简约的[设计风格]");
});

test("words are marked as the search finds them: parts, accents, Thai, Latin in Chinese", () => {
  expect(shown("getUserById and get_user", "user")).toBe("get[User]ById and get_[user]");
  expect(shown("a TimeoutError", "timeo")).toBe("a [TimeoutError]");
  expect(shown("用Python3写", "python")).toBe("用[Python3]写");
  expect(shown("the café in Việt Nam, by the đường to İstanbul", "cafe viet duong istanbul")).toBe("the [café] in [Việt] Nam, by the [đường] to [İstanbul]");
  expect(shown("cafe", "café")).toBe("[cafe]");
  expect(shown("สวัสดีชาวโลก", "โลก")).toBe("สวัสดีชาว[โลก]");
  expect(shown("مَرْحَبًا", "مرحبا")).toBe("[مَرْحَبًا]");
});

test("what looks like markup or a pattern is text", () => {
  expect(shown("a.b <b>(x)</b> [z]", "(x) .* <b>")).toBe("a.[b] <[b]>([x])</[b]> [z]");
});

test("nothing is marked for no words", () => {
  expect(marked("abc", "  … ")).toEqual([{ text: "abc", hit: false }]);
  expect(marked("", "abc")).toEqual([]);
});

test("ranges that overlap are one piece, and all pieces are the text", () => {
  const pieces = markedSpans("abcdef", [[3, 5], [1, 4], [5, 6]]);
  expect(pieces).toEqual([{ text: "a", hit: false }, { text: "bcdef", hit: true }]);
});
