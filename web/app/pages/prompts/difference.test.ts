import type { api } from "@chat-gateway/client";
import { expect, test } from "vitest";

import { differenceOf } from "./difference";

const part = (name: string, tokens: number, more: Partial<api.PartReport> = {}): api.PartReport =>
  ({ name, digest: `${name}${tokens}`, tokens, tokens_before: tokens, truncated: false, ...more });

function prompt(...parts: api.PartReport[]): api.PromptPreview {
  return {
    layers: [{ layer: "SYSTEM", text: "", components: [], parts }], tools: [], warnings: [],
    tool_tokens: 0, left_out: [], profile: "full", tokens: parts.reduce((sum, { tokens }) => sum + tokens, 0), prefix_hash: parts.map(({ digest, tokens }) => `${digest}${tokens}`).join(),
  };
}

const now = prompt(part("identity", 10), part("style", 20), part("tools", 30));

test("the same prompt has no difference", () => {
  expect(differenceOf(now, now)).toEqual({ changes: [], from: null, anew: 0 });
});

test("what comes after the edit is sent anew, though it is the same", () => {
  const edited = prompt(part("identity", 10), part("style", 25), part("tools", 30));
  expect(differenceOf(now, edited)).toMatchObject({ changes: [{ name: "style", before: { tokens: 20 }, after: { tokens: 25 } }], from: "style", anew: 55 });
});

test("a part that is cut now, or left out, is a change", () => {
  const cut = prompt(part("identity", 10), part("style", 20), part("tools", 30, { tokens: 5, truncated: true }));
  expect(differenceOf(now, cut)).toMatchObject({ changes: [{ name: "tools", after: { truncated: true } }], from: "tools", anew: 5 });
  const shorter = prompt(part("identity", 10), part("style", 20));
  expect(differenceOf(now, shorter)).toMatchObject({ changes: [{ name: "tools", after: null }], from: "tools", anew: 0 });
});
