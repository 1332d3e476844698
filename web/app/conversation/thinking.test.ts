import { describe, expect, it } from "vitest";

import { passages, withoutThinking } from "./thinking";

const short = (text: string) => passages(text).map(({ kind, text: said, isOpen }) => `${kind}${isOpen ? "…" : ""}: ${said}`);

describe("thoughts in a text", () => {
  it.each([
    ["<think>\n先想一想。\n</think>\n\n答案是**二**。", ["thinking: 先想一想。", "text…: 答案是**二**。"]],
    ["<think>\n先想", ["thinking…: 先想\n".trim()]],
    ["先想一想。\n</think>\n\n答案。", ["thinking: 先想一想。", "text…: 答案。"]],
    ["Well.\n\n<thinking>a\n\n```\nb\n```\n</thinking>\nDone. <think> is a tag.", ["text: Well.\n\n", "thinking: a\n\n```\nb\n```", "text…: Done. <think> is a tag."]],
    ["```\n<think>\n```\nand `</think>`", ["text…: ```\n<think>\n```\nand `</think>`"]],
    ["<think></think>\n答案", ["text…: 答案"]],
    ["plain", ["text…: plain"]],
  ])("%j", (text, expected) => {
    expect(short(text)).toEqual(expected);
  });

  it("are not copied with it", () => {
    expect(withoutThinking("<think>想</think>\n\n答案")).toBe("答案");
    expect(withoutThinking("答案\n")).toBe("答案\n");
  });
});

it("a thought that begins within a line is words", () => {
  expect(withoutThinking("the <think>is a tag</think> of some")).toBe("the <think>is a tag</think> of some");
});
