import { expect, test } from "vitest";

import { lastCode } from "./last-code";

test("the last code that was closed is found, with fences of others in it", () => {
  expect(lastCode("a\n```py\nfirst\n```\n\n````md\n```sh\nls\n```\n````\nb")).toBe("```sh\nls\n```");
  expect(lastCode("```py\nfirst\n```\n```py\nnot closed")).toBe("first");
  expect(lastCode("a `word` alone")).toBe(null);
});
