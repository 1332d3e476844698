// The rows of the log that a filter leaves, kept up to date beside the drawing.

import type { Event } from "@chat-gateway/client";

import type { EventList } from "../event-log";
import { ALL, type EventRow, EventRows, type Filter, FilteredRows } from "./event-rows";

/** Another object whenever something changed. */
export class Shown {
  readonly count: number;
  readonly all: number;
  /** Of all rows, how many were looked at: 1 when the search is over. */
  readonly share: number;
  readonly types: readonly (readonly [type: string, count: number])[];

  constructor(private readonly rows: EventRows, private readonly filtered: FilteredRows) {
    this.count = filtered.found.length;
    this.all = rows.rows.length;
    this.share = filtered.share;
    this.types = rows.types();
  }

  /** The row at a place among those that are left. */
  rowAt(place: number): EventRow | undefined {
    return this.rows.rows[this.filtered.found[place] ?? -1];
  }

  /** The row whose first event is that one; undefined where the filter leaves it out. */
  rowOf(seq: number): EventRow | undefined {
    const place = this.filtered.found.find((each) => this.rows.rows[each]?.seq === seq);
    return place === undefined ? undefined : this.rows.rows[place];
  }

  eventsOf(row: EventRow): readonly Event[] {
    return this.rows.eventsOf(row);
  }
}

export class EventView {
  private readonly rows = new EventRows();
  private filtered = new FilteredRows(this.rows, ALL);
  private shown = new Shown(this.rows, this.filtered);
  private readonly listeners = new Set<() => void>();
  private waiting: ReturnType<typeof setTimeout> | undefined;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly get = (): Shown => this.shown;

  take(events: EventList): void {
    this.rows.take(events);
    this.work();
  }

  choose(filter: Filter): void {
    this.filtered = new FilteredRows(this.rows, filter);
    this.work();
  }

  stop(): void {
    clearTimeout(this.waiting);
  }

  private work(): void {
    clearTimeout(this.waiting);
    if (!this.filtered.look()) this.waiting = setTimeout(() => this.work());
    this.shown = new Shown(this.rows, this.filtered);
    for (const listener of this.listeners) listener();
  }
}
