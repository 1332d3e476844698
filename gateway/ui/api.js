// The gateway over HTTP: requests with a key where one is needed, and a session's events by cursor.

const KEY = "gateway.key";
const SILENCE_MS = 45_000; // the server sends a heartbeat every 15 s
const MAX_WAIT_MS = 15_000;
const PAGE = 1000; // events that the server gives at once
const MAX_PAGES = 20; // that are looked through at once

export class Refused extends Error {
  constructor(status, problem = {}) {
    super(problem.message ?? `HTTP ${status}`);
    this.status = status;
    this.code = problem.code ?? "";
    this.retryable = problem.retryable ?? status >= 500;
    this.details = problem.details ?? {};
  }
}

// The network said no, not the server.
export class Unreachable extends Error {
  code = "unreachable";
}

// Whether the same request can succeed in a while.
export function mayHelp(error) {
  return !(error instanceof Refused) || error.retryable || error.status === 429 || error.status >= 500;
}

let askForKey = async () => "";

// `ask(wasWrong)` resolves to the key that the reader gives.
export function onKeyNeeded(ask) {
  askForKey = ask;
}

let asking = null;

async function renewKey(usedKey) {
  if (sessionStorage.getItem(KEY) !== usedKey) return; // somebody else has just asked
  asking ??= askForKey(usedKey !== null).then((key) => {
    sessionStorage.setItem(KEY, key);
    asking = null;
  });
  await asking;
}

async function authorized(path, options) {
  for (;;) {
    const key = sessionStorage.getItem(KEY);
    const headers = { ...options.headers, ...(key ? { Authorization: `Bearer ${key}` } : {}) };
    const response = await fetch(path, { ...options, headers, cache: "no-store" }).catch(unreachable);
    if (response.status !== 401) return response;
    await renewKey(key);
  }
}

function unreachable(error) {
  throw error.name === "AbortError" ? error : new Unreachable(error.message);
}

// `body` is sent as JSON; text is sent as it is.
export async function request(method, path, body, more = {}) {
  const headers = { Accept: "application/json", ...more };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  return answerTo(path, { method, headers, body: typeof body === "string" ? body : JSON.stringify(body) });
}

// Whether integers that a number cannot hold keep their digits: browsers of before 2025 round them.
export const isExact = "rawJSON" in JSON;

// What `text` says; an integer beyond 2^53 becomes what JSON.stringify writes with the same digits.
export function parse(text) {
  if (!isExact || !/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value, { source }) =>
    typeof value === "number" && /^-?\d+$/.test(source) && !Number.isSafeInteger(value) ? JSON.rawJSON(source) : value);
}

// Sends a file as it is.
export function upload(path, file, type = "application/x-ndjson", signal = undefined) {
  return answerTo(path, { method: "POST", headers: { "Content-Type": type }, body: file, signal });
}

async function answerTo(path, options) {
  const response = await authorized(path, options);
  const answer = await response.text().then(parse).catch(() => ({}));
  if (!response.ok) throw new Refused(response.status, answer.error);
  return answer;
}

// A file of the server's, with the plain name that it gives; a link could not fetch it where a key is needed.
export async function download(path) {
  const response = await authorized(path, {});
  if (!response.ok) throw await refusal(response);
  const [, name] = response.headers.get("Content-Disposition")?.match(/filename="([^"]*)"/) ?? [null, ""];
  const content = await response.blob().catch(unreachable);
  return new File([content], name, { type: content.type });
}

// An export, one JSON object a line; the last line says so when it could not be finished.
export async function downloadLines(path) {
  const file = await download(path);
  const last = (await file.slice(-4000).text()).trimEnd().split("\n").at(-1);
  if (last.startsWith('{"kind":"error"')) throw JSON.parse(last);
  return file;
}

async function refusal(response) {
  return new Refused(response.status, (await response.json().catch(() => ({}))).error);
}

// The session's last turn with what came after it; of a turn that is longer than a page, its end.
export async function lastTurn(session, head) {
  const after = Math.max(0, head - PAGE);
  const { events } = await request("GET", `/api/sessions/${session}/events?after=${after}&limit=${PAGE}`);
  const known = events.filter(({ seq }) => seq <= head);
  return known.slice(Math.max(0, known.findLastIndex(({ type }) => type === "turn_start")));
}

// What was kept aside in a session, as it was told: the artifacts of each call, what could not be kept of it, and
// the files of messages by their references.
export async function keptIn(session) {
  const kept = { ofCalls: new Map(), notKept: new Map(), files: new Map() };
  for (let after = 0, count = 0; after !== undefined && count < MAX_PAGES; count += 1) {
    const path = `/api/sessions/${session}/events?types=turn_start,artifact,warning&after=${after}&limit=${PAGE}`;
    const { events, next } = await request("GET", path);
    for (const { type, tool_call_id: callId, data } of events) {
      if (type === "artifact") kept.ofCalls.set(callId, [...kept.ofCalls.get(callId) ?? [], data]);
      else if (data.code === "artifact_not_kept") kept.notKept.set(callId, [...kept.notKept.get(callId) ?? [], data]);
      else for (const file of data.attachments ?? []) kept.files.set(file.ref, file);
    }
    after = events.length === PAGE ? next : undefined;
  }
  return kept;
}

// Repeats a request that may be repeated while the network, not the server, says no.
export async function persist(attempt, tries = 4) {
  for (let count = 1; ; count += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (count === tries || error instanceof Refused && error.code !== "draining") throw error;
      await pause(300 * 2 ** count);
    }
  }
}

// Calls `onEvent` for each event of the session after `cursor`, in order and once, until `signal` aborts.
// `onLink(true | false)` tells whether the stream is connected. Throws Refused when the server says a final no.
export async function follow(session, cursor, { onEvent, onLink, signal }) {
  let wait = 500;
  while (!signal.aborted) {
    try {
      for await (const frame of frames(`/api/sessions/${session}/events?follow=1`, cursor, signal)) {
        onLink(true);
        wait = 500;
        if (!frame.id || frame.event === "stream_open") continue; // a control frame, or one of a later version
        const event = parse(frame.data);
        if (event.seq <= cursor) continue;
        cursor = event.seq;
        onEvent(event);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused && error.status < 500 && error.status !== 429) throw error;
    }
    if (signal.aborted) return;
    onLink(false);
    await pause(wait * (0.5 + Math.random()), signal);
    wait = Math.min(wait * 2, MAX_WAIT_MS);
  }
}

// Calls `onEvent` for each event of the session as it is replayed at `speed`, and ends after the last one.
// A lost connection is resumed. Throws Refused when the server cannot go on, or what the network said last.
export async function replay(session, speed, { onEvent, signal }) {
  let cursor = 0;
  for (let tries = 1; ; tries += 1) {
    let end = cursor; // no stream at all: nothing is left
    try {
      for await (const { event, data } of frames(`/api/sessions/${session}/replay?speed=${speed}`, cursor, signal)) {
        if (!data) continue; // a heartbeat
        const said = parse(data);
        if (event === "stream_error") throw new Refused(503, said);
        if (event === "stream_open") end = said.head;
        if (!(said.seq > cursor)) continue;
        cursor = said.seq;
        tries = 1;
        onEvent(said);
      }
      if (cursor >= end) return;
      throw new Unreachable("The replay broke off.");
    } catch (error) {
      if (signal.aborted || error instanceof Refused) throw error;
      if (tries === 5) return unreachable(error);
    }
    await pause(300 * 2 ** tries, signal);
  }
}

async function* frames(path, cursor, signal) {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  try {
    const response = await authorized(path, {
      headers: { Accept: "text/event-stream", "Last-Event-ID": String(cursor) },
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (!response.ok) throw await refusal(response);
    if (!response.body) return;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) yield parseFrame(block);
    }
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

function parseFrame(block) {
  const frame = {};
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) frame[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, "");
  }
  return frame;
}

// Sleeps, but not past the moment the network is back.
function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(finish, ms);
    function finish() {
      clearTimeout(timer);
      removeEventListener("online", finish);
      signal?.removeEventListener("abort", finish);
      resolve();
    }
    addEventListener("online", finish);
    signal?.addEventListener("abort", finish);
  });
}
