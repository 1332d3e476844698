import { GatewayClient } from "@chat-gateway/client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { type Chat, createChats, mergePage } from "./chats";
import { fakeServer } from "../fake-server";
import { beginSeen, isUnread, keepSeen, keptSeen } from "./seen";

const chat = (id: string, more: Partial<Chat> = {}): Chat =>
  ({ id, title: `Chat ${id}`, created_at: 1, updated_at: 100, head: 4, active_branch: 0, pinned: false, archived: false, ...more });
const waiting = { session_id: "a", turn_id: "t", tool_call_id: "c", name: "write_note", arguments: {}, requested_at: 1, expires_at: 2 };

beforeEach(() => localStorage.clear());
afterEach(() => vi.useRealTimers());

describe("the list of chats", () => {
  test("one request tells of all chats, and approvals are asked for only when another chat waits", async () => {
    let rows = [chat("a"), chat("b")];
    const asked = fakeServer({ "GET /api/sessions": () => ({ sessions: rows }), "GET /api/approvals": () => ({ approvals: [waiting] }) });
    const chats = createChats(new GatewayClient({ url: "http://localhost" }));
    await chats.refresh();
    await chats.refresh();
    expect(asked.map(({ query }) => query)).toEqual(["?limit=50", "?pinned=true&limit=200", "?limit=50"]);

    rows = [chat("a", { status: "awaiting_approval", head: 7 }), chat("b")];
    await chats.refresh();
    await chats.refresh();
    expect(asked.filter(({ route }) => route === "GET /api/approvals")).toHaveLength(1);
    expect(chats.store.get().approvals).toEqual([waiting]);
  });

  test("rows that say the same are the same objects", async () => {
    fakeServer({ "GET /api/sessions": () => ({ sessions: [chat("a"), chat("b")] }) });
    const chats = createChats(new GatewayClient({ url: "http://localhost" }));
    await chats.refresh();
    const { chats: before } = chats.store.get();
    await chats.refresh();
    expect(chats.store.get().chats).toBe(before);
  });

  test("a list that is as it was is not sent again", async () => {
    const asked: Headers[] = [];
    fakeServer({});
    vi.stubGlobal("fetch", (_: string, init: RequestInit) => {
      asked.push(new Headers(init.headers));
      const isKnown = asked.at(-1)?.get("If-None-Match") === '"one"';
      return Promise.resolve(isKnown ? new Response(null, { status: 304 }) : Response.json({ sessions: [chat("a")] }, { headers: { ETag: '"one"' } }));
    });
    const chats = createChats(new GatewayClient({ url: "http://localhost" }));
    await chats.refresh();
    await chats.refresh();
    expect(asked.map((headers) => headers.get("If-None-Match"))).toEqual([null, null, '"one"']);
    expect(chats.store.get()).toMatchObject({ chats: [{ id: "a" }], state: "ready", error: null });
  });

  test("what was changed here and then undone elsewhere is asked for anew", async () => {
    vi.stubGlobal("fetch", (_: string, init: RequestInit) => {
      if (init.method === "DELETE") return Promise.resolve(new Response(null, { status: 204 }));
      const isKnown = new Headers(init.headers).get("If-None-Match") === '"one"';
      return Promise.resolve(isKnown ? new Response(null, { status: 304 }) : Response.json({ sessions: [chat("a")] }, { headers: { ETag: '"one"' } }));
    });
    const chats = createChats(new GatewayClient({ url: "http://localhost" }));
    await chats.refresh();
    await chats.remove("a");
    expect(chats.store.get().chats).toEqual([]);
    await chats.refresh();
    expect(chats.store.get().chats.map(({ id }) => id)).toEqual(["a"]);
  });

  test("it is asked for again and again, sooner while something runs, and no more once nobody watches", async () => {
    vi.useFakeTimers();
    let rows = [chat("a", { status: "running" })];
    const asked = fakeServer({ "GET /api/sessions": () => ({ sessions: rows }) });
    const end = createChats(new GatewayClient({ url: "http://localhost" })).watch();
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).toHaveLength(2); // the newest, and those that are pinned
    await vi.advanceTimersByTimeAsync(3000);
    expect(asked).toHaveLength(3);
    rows = [chat("a")];
    await vi.advanceTimersByTimeAsync(3000);
    expect(asked).toHaveLength(4);
    await vi.advanceTimersByTimeAsync(3000);
    expect(asked).toHaveLength(4);
    await vi.advanceTimersByTimeAsync(8000);
    expect(asked).toHaveLength(5);
    end();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toHaveLength(5);
  });

  test("a server that is away leaves what is known, and is asked again", async () => {
    let isAway = false;
    fakeServer({ "GET /api/sessions": () => isAway ? new Response("", { status: 503 }) : { sessions: [chat("a")] } });
    const chats = createChats(new GatewayClient({ url: "http://localhost" }));
    await chats.refresh();
    isAway = true;
    await chats.refresh();
    expect(chats.store.get()).toMatchObject({ chats: [{ id: "a" }], state: "ready" });
    expect(chats.store.get().error).not.toBeNull();
  });

  test("a search that was overtaken is dropped", async () => {
    const held: (() => void)[] = [];
    fakeServer({});
    vi.stubGlobal("fetch", (address: string) => new Promise((resolve) => {
      const query = new URL(address).searchParams.get("q");
      held.push(() => resolve(Response.json({ sessions: [chat(query ?? "none")] })));
    }));
    const chats = createChats(new GatewayClient({ url: "http://localhost" }));
    const [first, second] = [chats.search("one"), chats.search("two")];
    held[1]?.();
    await second;
    held[0]?.();
    await first;
    expect(chats.store.get().found?.chats.map(({ id }) => id)).toEqual(["two"]);
  });

  test("what was put away leaves the list, and what was deleted leaves all", async () => {
    fakeServer({
      "GET /api/sessions": () => ({ sessions: [chat("b"), chat("c")] }),
      "PATCH /api/sessions/a": () => chat("a", { archived: true }),
      "DELETE /api/sessions/b": undefined,
    });
    const chats = createChats(new GatewayClient({ url: "http://localhost" }));
    chats.store.set({ chats: [chat("a"), chat("b"), chat("c")], state: "ready" });
    await chats.change("a", { archived: true });
    expect(chats.store.get().chats.map(({ id }) => id)).toEqual(["b", "c"]);
    await chats.remove("b");
    expect(chats.store.get().chats.map(({ id }) => id)).toEqual(["c"]);
  });
});

describe("a page of the list", () => {
  const older = [chat("x", { updated_at: 50 }), chat("y", { updated_at: 40 })];

  test("keeps what was loaded behind it", () => {
    const page = { sessions: [chat("a", { updated_at: 120 }), chat("b", { updated_at: 100 })], next: "n2" };
    const known = [chat("b", { updated_at: 110 }), chat("gone", { updated_at: 105 }), ...older];
    expect(mergePage(known, "n9", page)).toEqual({ chats: [...page.sessions, ...older], next: "n9" });
  });

  test("is all there is when it says so", () => {
    expect(mergePage(older, "n9", { sessions: [chat("a")] })).toEqual({ chats: [chat("a")], next: null });
  });

  test("takes an older chat that has something new to the front, once", () => {
    const page = { sessions: [chat("x", { updated_at: 130 }), chat("a", { updated_at: 100 })], next: "n2" };
    expect(mergePage([chat("a"), ...older], "n9", page).chats.map(({ id }) => id)).toEqual(["x", "a", "y"]);
  });
});

describe("unread", () => {
  test("chats of before the first visit count as seen", () => {
    const seen = beginSeen(keptSeen(), 1000);
    expect(isUnread(seen, chat("a", { updated_at: 900 }))).toBe(false);
    expect(isUnread(seen, chat("a", { updated_at: 1100 }))).toBe(true);
    expect(isUnread(seen, chat("a", { updated_at: 1100, head: 0 }))).toBe(false);
  });

  test("what came after the last look is unread, also in another tab", () => {
    keepSeen(beginSeen(keptSeen(), 1000), "a", 4);
    const seen = beginSeen(keptSeen(), 2000);
    expect(seen.since).toBe(1000);
    expect(isUnread(seen, chat("a", { head: 4 }))).toBe(false);
    expect(isUnread(seen, chat("a", { head: 5 }))).toBe(true);
  });

  test("no more than 500 chats are kept, those that were looked at last", () => {
    let seen = beginSeen(keptSeen(), 1000);
    for (let count = 0; count < 510; count += 1) seen = keepSeen(seen, `s${count}`, 1);
    expect(Object.keys(seen.heads)).toHaveLength(500);
    expect(seen.heads.s509).toBe(1);
    expect(seen.heads.s0).toBeUndefined();
  });

  test("what another page wrote into its place is no trouble", () => {
    localStorage.setItem("gateway.seen", "[1");
    expect(beginSeen(keptSeen(), 7)).toEqual({ since: 7, heads: {} });
  });
});
