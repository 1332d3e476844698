import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { followPlace, loadOlder } from "./live";
import { app, go } from "./state";

// A gateway with logs of `turn_start` events, each a turn; its streams end when the page leaves them.
class Gateway {
  readonly heads = new Map<string, number>();
  readonly asked: string[] = [];
  unreachable = 0;
  streams = new Map<string, ReadableStreamDefaultController<Uint8Array>>();

  fetch = (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const { pathname, searchParams } = new URL(input as string);
    this.asked.push(pathname);
    if (this.unreachable-- > 0) return Promise.reject(new TypeError("Failed to fetch"));
    const [, , , session = "", events] = pathname.split("/");
    const head = this.heads.get(session);
    if (head === undefined) return Promise.resolve(Response.json({ error: { code: "session_not_found", message: "" } }, { status: 404 }));
    if (events === undefined) return Promise.resolve(Response.json({ id: session, head }));
    if (new Headers(init?.headers).get("Accept") === "text/event-stream") return Promise.resolve(this.stream(session));
    const before = Number(searchParams.get("before") ?? head + 1), limit = Number(searchParams.get("limit") ?? 500);
    const last = before - 1, first = Math.max(1, before - limit);
    const page = Array.from({ length: Math.max(0, last - first + 1) }, (_, place) => event(session, first + place));
    return Promise.resolve(Response.json({ events: page, next: last, head }));
  };

  happen(session: string): void {
    const seq = (this.heads.get(session) ?? 0) + 1;
    this.heads.set(session, seq);
    const frame = `id: ${seq}\nevent: turn_start\ndata: ${JSON.stringify(event(session, seq))}\n\n`;
    this.streams.get(session)?.enqueue(new TextEncoder().encode(frame));
  }

  private stream(session: string): Response {
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void this.streams.set(session, controller) });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  }
}

function event(session: string, seq: number) {
  const data = { input: `message ${seq}`, parent_turn_id: seq === 1 ? "root" : `t${seq - 1}` };
  return { v: 1, seq, type: "turn_start", ts: seq, session_id: session, turn_id: `t${seq}`, data };
}

const until = (check: () => void) => vi.waitFor(check, { timeout: 60_000 });

let gateway: Gateway;

beforeEach(() => {
  gateway = new Gateway();
  vi.stubGlobal("fetch", gateway.fetch);
});
afterEach(() => {
  go({});
  vi.unstubAllGlobals();
});

followPlace();

test("a session begins with the newest page of its log, and older pages come in front", async () => {
  gateway.heads.set("long", 700);
  go({ session: "long" });
  await until(() => expect(app.get().state).toBe("ready"));
  expect(app.get().conversation.first).toBe(201);

  await loadOlder();

  expect(app.get().conversation.first).toBe(1);
  expect([...app.get().events].map(({ seq }) => seq)).toEqual(Array.from({ length: 700 }, (_, place) => place + 1));
});

test("who draws an older page may ask for the one before it at once, and it comes", async () => {
  gateway.heads.set("long", 1700);
  go({ session: "long" });
  await until(() => expect(app.get().conversation.first).toBe(1201));
  const stop = app.subscribe(() => void loadOlder());

  await loadOlder();

  await until(() => expect(app.get().conversation.first).toBe(1));
  stop();
});

test("what happens is added once, also right after another session was left", async () => {
  gateway.heads.set("a", 1).set("b", 1);
  go({ session: "a" });
  await until(() => expect(gateway.streams.has("a")).toBe(true));
  gateway.happen("a");
  go({ session: "b" });
  await until(() => expect(gateway.streams.has("b")).toBe(true));
  gateway.happen("b");

  await until(() => expect(app.get().conversation.last).toBe(2));
  expect([...app.get().events].map(({ seq, session_id: session }) => [session, seq])).toEqual([["b", 1], ["b", 2]]);
});

test("a session that is not there is said to be gone", async () => {
  go({ session: "nowhere" });

  await until(() => expect(app.get().state).toBe("gone"));
});

test("while the gateway cannot be reached the session is asked for again", async () => {
  gateway.heads.set("far", 3);
  gateway.unreachable = 1;
  go({ session: "far" });
  await until(() => expect(app.get().link?.state).toBe("lost"));
  expect(app.get().state).toBe("loading");

  dispatchEvent(new Event("online"));

  await until(() => expect(app.get().state).toBe("ready"));
  expect(app.get().conversation.last).toBe(3);
});
