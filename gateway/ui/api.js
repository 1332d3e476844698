// The gateway over HTTP: requests with a key where one is needed, and a session's events by cursor.

const KEY = "gateway.key";
const SILENCE_MS = 45_000; // the server sends a heartbeat every 15 s
const LONGEST_WAIT_MS = 15_000;

export class Refused extends Error {
  constructor(status, problem = {}) {
    super(problem.message ?? `HTTP ${status}`);
    this.status = status;
    this.code = problem.code ?? "";
    this.retryable = problem.retryable ?? status >= 500;
  }
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
    const response = await fetch(path, { ...options, headers, cache: "no-store" });
    if (response.status !== 401) return response;
    await renewKey(key);
  }
}

export async function request(method, path, body) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await authorized(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(response.status, answer.error);
  return answer;
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
      for await (const frame of frames(session, cursor, signal)) {
        onLink(true);
        wait = 500;
        if (!frame.id || frame.event === "stream_open") continue; // a control frame, or one of a later version
        const event = JSON.parse(frame.data);
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
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

async function* frames(session, cursor, signal) {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  try {
    const response = await authorized(`/api/sessions/${session}/events?follow=1`, {
      headers: { Accept: "text/event-stream", "Last-Event-ID": String(cursor) },
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (!response.ok) throw new Refused(response.status, (await response.json().catch(() => ({}))).error);
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
