// An exported session, read in the browser: nothing of it leaves the page.

import { type Event, parseExact } from "@chat-gateway/client";

/** What a file holds of a session. */
export interface Recording {
  readonly title: string;
  readonly events: readonly Event[];
}

/** Why a file cannot be played. `line` counts from 1. */
export class BadFile extends Error {
  override readonly name = "BadFile";

  constructor(readonly reason: "no_events" | "not_json" | "no_event" | "all_chats" | "order" | "cut_off" | "export_failed", readonly line = 0, readonly words = "") {
    super(`${reason} (line ${line}) ${words}`.trim());
  }
}

const EVENT_HEAD = "{\"kind\":\"event\",";
const ALL_CHATS_HEAD = "{\"kind\":\"sessions\",";
const BARE_HEAD = "{\"v\":";
/** Most of a file are messages and contents, which are not played. */
const TOLD = ["{\"kind\":\"session\",", "{\"kind\":\"error\",", "{\"kind\":\"end\","];

/** Reads a session's export (`GET …/export`), or a file with one event a line.
 *
 * Throws `BadFile`, or what `signal` aborted with. */
export async function readRecording(file: Blob, signal?: AbortSignal): Promise<Recording> {
  const events: Event[] = [];
  let title = "", number = 0, isExport = false, isWhole = false;
  for await (const line of linesOf(file)) {
    signal?.throwIfAborted();
    number += 1;
    if (line.trim() === "") continue;
    const isEvent = line.startsWith(EVENT_HEAD), isBare = line.startsWith(BARE_HEAD);
    if (!isEvent && !isBare && !TOLD.some((head) => line.startsWith(head))) {
      if (number === 1 && line.startsWith(ALL_CHATS_HEAD)) throw new BadFile("all_chats");
      if (!isExport) throw new BadFile(line.startsWith("{") ? "no_event" : "not_json", number);
      continue;
    }
    const value = parsed(line, number);
    if (isEvent || isBare) {
      const event = eventOf(isEvent ? (value as { body?: unknown }).body : value, number);
      const before = events.at(-1);
      if (before && (event.seq <= before.seq || event.session_id !== before.session_id)) throw new BadFile("order", number);
      events.push(event);
      continue;
    }
    const { kind, title: named, id, message } = value as Readonly<Record<string, unknown>>;
    if (kind === "session") {
      isExport = true;
      title = typeof named === "string" && named ? named : typeof id === "string" ? id : "";
    } else if (kind === "error") {
      throw new BadFile("export_failed", number, typeof message === "string" ? message : "");
    } else isWhole = true;
  }
  if (isExport && !isWhole) throw new BadFile("cut_off", number);
  if (events.length === 0) throw new BadFile("no_events", number);
  return { title, events };
}

async function* linesOf(file: Blob): AsyncGenerator<string> {
  const reader = file.stream().getReader(), decoder = new TextDecoder();
  let parts: string[] = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = decoder.decode(value, { stream: true }).split("\n");
    const last = lines.pop() ?? "";
    for (const line of lines) {
      yield [...parts, line].join("");
      parts = [];
    }
    parts.push(last);
  }
  if (parts.some(Boolean)) yield parts.join("");
}

function parsed(line: string, number: number): unknown {
  try {
    return parseExact(line);
  } catch {
    throw new BadFile("not_json", number);
  }
}

function eventOf(value: unknown, number: number): Event {
  const event = value as Partial<Event> | null;
  const isOne = typeof event === "object" && event !== null && Number.isSafeInteger(event.seq) && Number.isSafeInteger(event.ts)
    && typeof event.type === "string" && typeof event.turn_id === "string" && typeof event.session_id === "string"
    && typeof event.data === "object" && (event.data as unknown) !== null;
  if (!isOne) throw new BadFile("no_event", number);
  return event as Event;
}
