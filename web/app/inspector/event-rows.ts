// The raw log as rows, and which of them are shown.

import type { Event } from "@chat-gateway/client";

import type { EventList } from "../event-log";

/** One event, or pieces of text that follow each other: the events from `start` to before `end`, counted from the first
 * one that was known at first; those that were put before it have numbers below 0. */
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

/** The rows of a log that grows at both ends. */
export class EventRows {
  rows: EventRow[] = [];
  private taken: EventList = [];
  private readonly counts = new Map<string, number>();
  private before = 0; // events that were put before the first one

  /** How often rows were numbered anew, as another log came. */
  generation = 0;

  /** How many rows were put before the first one: the next one may have become longer. */
  older = 0;

  /** Takes the log as it is now. */
  take(events: EventList): void {
    const last = this.taken;
    if (last === events) return;
    this.taken = events;
    const more = events.length - last.length;
    if (last.length === 0 || (events.at(0) === last.at(0) && events.at(last.length - 1) === last.at(-1))) {
      this.add(this.rows, events.slice(last.length), last.length - this.before);
    } else if (more > 0 && events.at(more) === last.at(0) && events.at(-1) === last.at(-1)) {
      this.before += more;
      this.prepend(events.slice(0, more));
    } else {
      this.rows = [];
      this.counts.clear();
      this.before = this.older = 0;
      this.generation += 1;
      this.add(this.rows, events.slice(), 0);
    }
  }

  eventsOf(row: EventRow): readonly Event[] {
    return this.taken.slice(row.start + this.before, row.end + this.before);
  }

  private add(rows: EventRow[], events: readonly Event[], from: number): void {
    let place = from;
    for (const { seq, type, turn_id: turnId } of events) {
      const row = { seq, type, turnId, start: place, end: place + 1 };
      const last = rows.at(-1);
      if (last && isOneText(last, row)) rows[rows.length - 1] = { ...last, end: row.end };
      else rows.push(row);
      this.counts.set(type, (this.counts.get(type) ?? 0) + 1);
      place += 1;
    }
  }

  private prepend(events: readonly Event[]): void {
    const rows: EventRow[] = [];
    this.add(rows, events, -this.before);
    const [last, first] = [rows.at(-1), this.rows[0]];
    if (last && first && isOneText(last, first)) {
      rows.pop();
      this.rows[0] = { ...last, end: first.end };
    }
    this.older += rows.length;
    this.rows = rows.concat(this.rows);
  }

  /** How many events of each type there are, the most frequent first. */
  types(): readonly (readonly [type: string, count: number])[] {
    return [...this.counts].sort((one, other) => other[1] - one[1]);
  }
}

function isOneText(one: EventRow, next: EventRow): boolean {
  return isPiece(one.type) && one.type === next.type && one.turnId === next.turnId;
}

export function isPiece(type: string): boolean {
  return type === "text" || type === "thinking";
}

/** The rows that pass a filter: found a slice at a time, so that a long log holds nothing up. */
export class FilteredRows {
  /** Places in `rows.rows`. */
  found: number[] = [];
  private looked = 0;
  private last: EventRow | undefined; // that was looked at
  private generation: number;
  private older: number;
  private readonly query: string;

  constructor(private readonly rows: EventRows, private readonly filter: Filter) {
    this.query = filter.query.trim().toLowerCase();
    this.generation = rows.generation;
    this.older = rows.older;
  }

  /** Looks on for one slice. Whether it came to the end. */
  look(now: () => number = () => performance.now()): boolean {
    const all = this.rows.rows;
    if (this.generation !== this.rows.generation) {
      this.generation = this.rows.generation;
      this.older = this.rows.older;
      this.found = [];
      this.looked = 0;
    }
    if (this.older !== this.rows.older) this.lookBefore();
    if (this.looked > 0 && all[this.looked - 1] !== this.last) this.looked -= 1; // it has grown since
    if (this.found.at(-1) === this.looked) this.found.pop();
    const until = now() + SLICE;
    for (let row = all[this.looked]; row; row = all[this.looked]) {
      if (this.passes(row)) this.found.push(this.looked);
      this.looked += 1;
      this.last = row;
      if (this.query && now() > until) break;
    }
    return this.looked >= all.length;
  }

  /** Looks at the rows that were put before the first one, and at that anew. */
  private lookBefore(): void {
    const more = this.rows.older - this.older;
    this.older = this.rows.older;
    if (this.looked === 0) return;
    const found: number[] = [];
    this.rows.rows.slice(0, more + 1).forEach((row, place) => this.passes(row) && found.push(place));
    for (const place of this.found) if (place > 0) found.push(place + more);
    this.found = found;
    this.looked += more;
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
  schedule: ["action", "name", "code"],
  artifact: ["ref", "name", "summary"],
  compression: ["phase", "version", "reason"],
  warning: ["code", "message"],
  error: ["code", "message"],
  feedback: ["rating", "reason"],
  done: ["status", "stop_reason"],
};
