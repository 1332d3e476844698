// The events of a session as far as they are known: a list that is never changed, and yet grows without being copied.

import type { Event } from "@chat-gateway/client";

/** What readers need of a list of events; an array has it. */
export interface EventList extends Iterable<Event> {
  readonly length: number;
  readonly at: (place: number) => Event | undefined;
  readonly slice: (start?: number, end?: number) => readonly Event[];
}

/** The first `length` events of an array, behind which newer lists put theirs. */
export class EventLog implements EventList {
  private constructor(private readonly store: Event[], readonly length: number) {}

  static of(events: Iterable<Event>): EventLog {
    const store = [...events];
    return new EventLog(store, store.length);
  }

  /** With newer events behind it. */
  with(events: readonly Event[]): EventLog {
    const store = this.store.length === this.length ? this.store : this.store.slice(0, this.length);
    for (const event of events) store.push(event);
    return new EventLog(store, store.length);
  }

  /** With older events in front of it. */
  behind(events: readonly Event[]): EventLog {
    return EventLog.of(events.concat(this.slice()));
  }

  /** Its first events. */
  upTo(length: number): EventLog {
    return new EventLog(this.store, Math.min(length, this.length));
  }

  at(place: number): Event | undefined {
    return this.store[place < 0 ? this.length + place : place < this.length ? place : -1];
  }

  slice(start = 0, end = this.length): readonly Event[] {
    const place = (from: number): number => Math.min(this.length, from < 0 ? Math.max(0, this.length + from) : from);
    return this.store.slice(place(start), place(end));
  }

  [Symbol.iterator](): Iterator<Event> {
    return this.slice()[Symbol.iterator]();
  }
}
