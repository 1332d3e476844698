import { describe, expect, test } from "vitest";

import { choiceOf } from "./caller";

const offered = ["large", "small"];

describe("the model of the next message", () => {
  test("is nobody's choice where there is one", () => {
    expect(choiceOf(["large"], { picked: undefined, last: undefined, usual: "large" })).toBeUndefined();
    expect(choiceOf([], { picked: "large", last: undefined, usual: null })).toBeUndefined();
  });

  test.each([
    ["what was picked for the chat", { picked: "small", last: "large", usual: "large" }, "small"],
    ["that of the chat's newest turn", { picked: undefined, last: "small", usual: "large" }, "small"],
    ["that of new chats", { picked: undefined, last: undefined, usual: "small" }, "small"],
    ["the server's own", { picked: undefined, last: undefined, usual: null }, "large"],
    ["never one that is not offered any more", { picked: "gone", last: "gone", usual: "gone" }, "large"],
  ])("is %s", (_, known, expected) => {
    expect(choiceOf(offered, known)).toBe(expected);
  });
});
