// The raw log as rows, and which of them are shown.

import type { Event } from "@chat-gateway/client";

import type { EventList } from "../event-log";

/** One event, or pieces of text that follow each other: the events from `start` to before `end` of the log. */
export interface EventRow {
  /** Of its first event. */
  readonly seq: number;
  readonly type: string;
  readonly turnId: string;
  readonly start: number;
  readonly end: number;
}

export interface Filter {
  /** Empty: all types. */
  readonly types: ReadonlySet<string>;
  /** Only of that turn. */
  readonly turnId: string | null;
  /** Is in the event as JSON, or in the joined text of pieces; in any case of letters. */
  readonly query: string;
}

export const ALL: Filter = { types: new Set(), turnId: null, query: "" };

const GIST_LENGTH = 400; // characters

/** How many milliseconds a search may hold the page up at a time. */
const SLICE = 8;

/** The rows of a log that grows at its end. */
export class EventRows {
  readonly rows: EventRow[] = [];
  private taken: EventList = [];
  private readonly counts = new Map<string, number>();

  /** How often rows were numbered anew: after older events came, or another log. */
  generation = 0;

  /** Takes the log as it is now. */
  take(events: EventList): void {
    const before = this.taken;
    if (before === events) return;
    this.taken = events;
    let place = before.length;
    const isGrown = place === 0 || (events.at(0) === before.at(0) && events.at(place - 1) === before.at(place - 1));
    if (!isGrown) {
      this.rows.length = 0;
      this.counts.clear();
      this.generation += 1;
      place = 0;
    }
    for (const { seq, type, turn_id: turnId } of events.slice(place)) {
      const last = this.rows.at(-1);
      if (last?.type === type && last.turnId === turnId && isPiece(type)) this.rows[this.rows.length - 1] = { ...last, end: place + 1 };
      else this.rows.push({ seq, type, turnId, start: place, end: place + 1 });
      this.counts.set(type, (this.counts.get(type) ?? 0) + 1);
      place += 1;
    }
  }

  eventsOf(row: EventRow): readonly Event[] {
    return this.taken.slice(row.start, row.end);
  }

  /** How many events of each type there are, the most frequent first. */
  types(): readonly (readonly [type: string, count: number])[] {
    return [...this.counts].sort((one, other) => other[1] - one[1]);
  }
}

export function isPiece(type: string): boolean {
  return type === "text" || type === "thinking";
}

/** The rows that pass a filter: found a slice at a time, so that a long log holds nothing up. */
export class FilteredRows {
  /** Places in `rows.rows`. */
  readonly found: number[] = [];
  private looked = 0;
  private generation: number;
  private readonly query: string;

  constructor(private readonly rows: EventRows, private readonly filter: Filter) {
    this.query = filter.query.trim().toLowerCase();
    this.generation = rows.generation;
  }

  /** Looks on for one slice. Whether it came to the end. */
  look(now: () => number = () => performance.now()): boolean {
    const all = this.rows.rows;
    if (this.generation !== this.rows.generation) {
      this.generation = this.rows.generation;
      this.found.length = this.looked = 0;
    }
    // The last row may have grown since.
    if (this.looked > 0 && this.looked >= all.length) this.looked = all.length - 1;
    if (this.found.at(-1) === this.looked) this.found.pop();
    const until = now() + SLICE;
    for (let row = all[this.looked]; row; row = all[this.looked]) {
      if (this.passes(row)) this.found.push(this.looked);
      this.looked += 1;
      if (this.query && now() > until) break;
    }
    return this.looked >= all.length;
  }

  /** Of all rows, how many were looked at. */
  get share(): number {
    return this.rows.rows.length === 0 ? 1 : this.looked / this.rows.rows.length;
  }

  private passes(row: EventRow): boolean {
    const { types, turnId } = this.filter;
    if (types.size > 0 && !types.has(row.type)) return false;
    if (turnId !== null && row.turnId !== turnId) return false;
    return this.query === "" || textOf(row.type, this.rows.eventsOf(row)).toLowerCase().includes(this.query);
  }
}

/** What is searched: an event as JSON; of pieces their joined text, in which words are whole. */
export function textOf(type: string, events: readonly Event[]): string {
  if (!isPiece(type)) return events.map((event) => JSON.stringify(event)).join("\n");
  return `${type} ${joined(events)}`;
}

export function joined(events: readonly Event[]): string {
  return events.map(({ data }) => "text" in data && typeof data.text === "string" ? data.text : "").join("");
}

/** One line that says what is in a row. */
export function gistOf(type: string, events: readonly Event[]): string {
  if (isPiece(type)) return joined(events.slice(0, GIST_LENGTH)).slice(0, GIST_LENGTH);
  const data = (events[0]?.data ?? {}) as Readonly<Record<string, unknown>>;
  const words = (names: readonly string[]): string => names
    .map((name) => data[name]).filter((value) => value !== undefined && value !== "")
    .map((value) => typeof value === "string" ? value : JSON.stringify(value)).join(" · ");
  const names = GIST[type];
  return (names ? words(names) : JSON.stringify(data)).slice(0, GIST_LENGTH);
}

const GIST: Readonly<Record<string, readonly string[]>> = {
  turn_start: ["dialect", "input"],
  iteration_start: ["model", "attempt"],
  iteration_end: ["stop_reason", "duration_ms"],
  iteration_superseded: ["reason"],
  retrieval: ["source", "query"],
  tool_call: ["name", "arguments"],
  tool_progress: ["message", "progress"],
  tool_result: ["name", "status", "content"],
  approval_request: ["name", "arguments"],
  approval_response: ["decision", "by", "scope", "reason"],
  memory: ["op", "kind", "content"],
  skill: ["action", "name", "reason"],
  artifact: ["ref", "name", "summary"],
  compression: ["phase", "version", "reason"],
  warning: ["code", "message"],
  error: ["code", "message"],
  feedback: ["rating", "reason"],
  done: ["status", "stop_reason"],
};
