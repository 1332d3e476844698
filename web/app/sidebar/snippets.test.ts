import { GatewayClient } from "@chat-gateway/client";
import { expect, test } from "vitest";

import { pretend } from "./pretended";
import { around, snippetOf } from "./snippets";

const event = (seq: number, type: string, turn: string, data: object) => ({ v: 1, seq, type, ts: 1, session_id: "s", turn_id: turn, data });
const client = new GatewayClient({ url: "http://localhost" });
const { signal } = new AbortController();

test("the part around the first hit is shown, in one line", () => {
  const text = `${"word ".repeat(50)}the heron\nstands in the reeds ${"and so on ".repeat(30)}`;
  const shown = around(text, "heron")?.text ?? "";
  expect(shown).toMatch(/^… (word )+the heron stands in the reeds .* …$/);
  expect(shown.length).toBeLessThan(180);
  expect(around("我喜欢简约的设计风格", "设计")?.text).toBe("我喜欢简约的设计风格");
  expect(around("nothing", "heron")).toBeNull();
});

test("a long text without spaces is cut where the hit is near", () => {
  expect(around(`${"很".repeat(500)}设计`, "设计")?.text).toBe(`… ${"很".repeat(30)}设计`);
});

test("what the reader wrote comes before what was answered, whose pieces are put together", async () => {
  const asked = pretend({ "GET /api/sessions/s/events": (_: unknown, query: URLSearchParams) => ({
    head: 9,
    events: query.get("types") === "turn_start" ? [event(1, "turn_start", "t", { input: "a question", model: "m" })]
      : [event(2, "text", "t", { text: "the her" }), event(3, "text", "t", { text: "on stands" })],
  }) });
  expect(await snippetOf(client, "s", "question", signal)).toBe("a question");
  expect(asked).toHaveLength(1);
  expect(await snippetOf(client, "s", "heron", signal)).toBe("the heron stands");
  expect(await snippetOf(client, "s", "bicycle", signal)).toBeNull();
});
