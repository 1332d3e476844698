// @vitest-environment node

import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";

import { followSession, GatewayClient, Refused, replaySession, Unreachable } from "../src/index.js";
import type { ClientOptions, Event, Link } from "../src/index.js";
import { FrameReader } from "../src/sse.js";
import { lines, recorded } from "./plain.js";
import "./setup.js";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A client of a server that gives these answers one after the other, the last one again and again. */
async function serverOf(answers: readonly Answer[], options: ClientOptions = {}): Promise<{ client: GatewayClient; asked: IncomingMessage[] }> {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    answers[Math.min(asked.length, answers.length) - 1]?.(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { client: new GatewayClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ...options }), asked };
}

const frameOf = (line: string): string => {
  const { seq, type } = JSON.parse(line) as Event;
  return `id: ${seq}\nevent: ${type}\ndata: ${line}\n\n`;
};
const LINES = lines("tools");
const open = (cursor: number, head = LINES.length): string => `id: ${cursor}\nevent: stream_open\ndata: {"cursor":${cursor},"head":${head}}\n\n`;

const stream = (...chunks: readonly (string | Uint8Array)[]): Answer => (_, response) => {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  for (const chunk of chunks) response.write(chunk);
};
const brokenOff = (...chunks: readonly string[]): Answer => (request, response) => {
  stream()(request, response);
  response.write(chunks.join(""), () => request.socket.destroy());
};
const ended = (...chunks: readonly string[]): Answer => (request, response) => {
  stream(...chunks)(request, response);
  response.end();
};
const refusing = (status: number, code: string, headers: Record<string, string> = {}): Answer => (_, response) => {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(JSON.stringify({ error: { code, message: code, retryable: status === 503 }, request_id: "r" }));
};
const framesFrom = (first: number, last = LINES.length): string[] => LINES.slice(first - 1, last).map(frameOf);

/** Follows until so many events came. */
async function followed(client: GatewayClient, count: number, more: Partial<Parameters<typeof followSession>[2]> = {}): Promise<{ seqs: number[]; links: Link[] }> {
  const enough = new AbortController();
  const [seqs, links]: [number[], Link[]] = [[], []];
  await followSession(client, "s", {
    onEvent: ({ seq }) => {
      seqs.push(seq);
      if (seqs.length === count) enough.abort();
    },
    onLink: (link) => links.push(link),
    signal: enough.signal,
    ...more,
  });
  return { seqs, links };
}

const upTo = (last: number, first = 1): number[] => Array.from({ length: last - first + 1 }, (_, index) => first + index);

describe("frames", () => {
  test("are the same however their bytes are cut", () => {
    const bytes = new TextEncoder().encode(`retry: 1000\n\n:\n${open(0)}:\r\n${framesFrom(1, 40).join(":\n")}`);
    const whole = new FrameReader().take(new TextDecoder().decode(bytes));
    expect(whole).toHaveLength(41);
    fc.assert(fc.property(fc.array(fc.nat(bytes.length), { maxLength: 30 }), (cuts) => {
      const [reader, decoder] = [new FrameReader(), new TextDecoder()];
      const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const frames = places.slice(1).flatMap((end, index) =>
        reader.take(decoder.decode(bytes.subarray(places[index], end), { stream: true })));
      expect(frames).toEqual(whole);
    }));
  });
});

describe("a session that is followed", () => {
  test("is resumed after the last event that came, however its connection ends, and each event comes once", async () => {
    const { client, asked } = await serverOf([
      brokenOff(open(0), ...framesFrom(1, 10)),
      ended(open(10), ...framesFrom(8, 20), frameOf(LINES[20] ?? "").slice(0, -30)), // repeated, and cut in a frame
      refusing(503, "draining"),
      stream(open(20), "event: stream_error\ndata: {\"code\":\"storage_unavailable\"}\n\n"),
      stream(open(20), ...framesFrom(21)),
    ]);
    const { seqs } = await followed(client, LINES.length);
    expect(seqs).toEqual(upTo(LINES.length));
    expect(asked.map(({ headers }) => headers["last-event-id"])).toEqual(["0", "10", "20", "20", "20"]);
  });

  test("is told whether it catches up, is live or lost", async () => {
    const { client } = await serverOf([brokenOff(open(0, 5), ...framesFrom(1, 6)), stream(open(6, 6), ...framesFrom(7, 8))]);
    const { links } = await followed(client, 8);
    expect(links.map(({ state }) => state)).toEqual(["connecting", "catching_up", "live", "lost", "connecting", "live"]);
  });

  test("counts as lost when nothing comes, not even a heartbeat", async () => {
    const { client, asked } = await serverOf([(request, response) => {
      const cursor = Number(request.headers["last-event-id"]);
      stream(open(cursor), ...framesFrom(cursor + 1, cursor + 3))(request, response);
    }]);
    const { seqs, links } = await followed(client, 6, { silence: 300 });
    expect(seqs).toEqual(upTo(6));
    expect(asked.length).toBeGreaterThan(1);
    const lost = links.flatMap((link) => link.state === "lost" ? [link.error.message] : []);
    expect(new Set(lost)).toEqual(new Set(["The connection fell silent."]));
  });

  test.each([[404, "session_not_found"], [400, "cursor_ahead"], [401, "not_authenticated"]])("ends at a final no: %i", async (status, code) => {
    const { client, asked } = await serverOf([refusing(status, code)]);
    await expect(followed(client, 1)).rejects.toMatchObject({ name: "Refused", status, code, requestId: "r" });
    expect(asked).toHaveLength(1);
  });

  test("ends after its turn's done, or where the server has nothing more of it", async () => {
    const { client } = await serverOf([stream(...framesFrom(1)), (_, response) => response.writeHead(204).end()]);
    const turnId = recorded("tools")[0]?.turn_id ?? "";
    const seqs: number[] = [];
    const onEvents = (events: readonly Event[]): void => { seqs.push(...events.map(({ seq }) => seq)); };
    await followSession(client, "s", { turnId, onEvents });
    const done = recorded("tools").find(({ type }) => type === "done")?.seq ?? 0;
    expect(seqs.slice(0, done)).toEqual(upTo(done));
    await followSession(client, "s", { turnId, after: done, onEvents });
  });

  test("ends when it is aborted, between two connections too", async () => {
    const stop = new AbortController();
    const { client } = await serverOf([refusing(503, "draining", { "Retry-After": "100000" })]);
    const links: Link[] = [];
    await followSession(client, "s", {
      signal: stop.signal,
      onLink: (link) => {
        links.push(link);
        if (link.state === "lost") queueMicrotask(() => { stop.abort(); });
      },
    });
    expect(links.at(-1)).toMatchObject({ state: "lost", error: { code: "draining" } });
  });

  test("throws what its handler throws", async () => {
    const { client } = await serverOf([stream(...framesFrom(1))]);
    const onEvent = (): void => { throw new TypeError("of the page"); };
    await expect(followSession(client, "s", { onEvent })).rejects.toThrow("of the page");
  });

  test.each([undefined, ""])("asks for a key once where there is none (%o), and for another one when that was wrong", async (key) => {
    const answers: Answer = (request, response) => {
      (request.headers.authorization === "Bearer right" ? stream(...framesFrom(1)) : refusing(401, "not_authenticated"))(request, response);
    };
    const asked: boolean[] = [];
    const onKeyNeeded = (wasWrong: boolean): Promise<string> => {
      asked.push(wasWrong);
      return Promise.resolve(wasWrong ? "right" : "wrong");
    };
    const { client } = await serverOf([answers], { onKeyNeeded, ...key === undefined ? {} : { key } });
    await Promise.all([followed(client, 3), followed(client, 3)]);
    expect(asked).toEqual([false, true]);
  });
});

describe("a replay", () => {
  test("is resumed, and ends with its last event", async () => {
    const { client, asked } = await serverOf([brokenOff(open(0), ...framesFrom(1, 9)), ended(open(9), ...framesFrom(10))]);
    const seqs: number[] = [];
    await replaySession(client, "s", { speed: "max", onEvent: ({ seq }) => { seqs.push(seq); } });
    expect(seqs).toEqual(upTo(LINES.length));
    expect(asked.map(({ url }) => url)).toEqual(Array(2).fill("/api/sessions/s/replay?speed=max"));
  });
});

describe("a turn", () => {
  const accepted: Answer = (_, response) => {
    response.writeHead(202, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ turn_id: "t", session_id: "s", status: "running", seq: 0 }));
  };
  const bodies = async (answers: readonly Answer[]): Promise<{ client: GatewayClient; read: string[] }> => {
    const read: string[] = [];
    const { client } = await serverOf(answers.map((answer): Answer => (request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => { body += chunk.toString(); }).on("end", () => {
        read.push(body);
        answer(request, response);
      });
    }));
    return { client, read };
  };

  test("is started once, whatever becomes of the answers", async () => {
    const lost: Answer = (request) => request.socket.destroy();
    const { client, read } = await bodies([lost, refusing(503, "draining"), accepted]);
    expect(await client.startTurn("s", "hi")).toMatchObject({ turn_id: "t" });
    expect(read).toHaveLength(3);
    expect(new Set(read).size).toBe(1);
    expect(JSON.parse(read[0] ?? "")).toMatchObject({ message: "hi", client_message_id: expect.stringMatching(/^[0-9a-f]{32}$/) as string });
  });

  test("keeps the id that it is given", async () => {
    const { client, read } = await bodies([accepted]);
    await client.startTurn("s", { message: "hi", client_message_id: "m-1" });
    expect(JSON.parse(read[0] ?? "")).toEqual({ message: "hi", client_message_id: "m-1" });
  });

  test("is not asked for again where the server says no", async () => {
    const { client, read } = await bodies([refusing(409, "turn_in_progress")]);
    await expect(client.startTurn("s", "hi")).rejects.toBeInstanceOf(Refused);
    expect(read).toHaveLength(1);
  });

  test("that nobody answers is unreachable", async () => {
    await expect(new GatewayClient({ url: "http://127.0.0.1:1" }).session("s")).rejects.toBeInstanceOf(Unreachable);
  });
});
