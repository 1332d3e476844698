// The events of one turn, out of those of a session.

import type { Event, Turn } from "@chat-gateway/client";

import type { EventList } from "../event-log";

/** They lie together for the most part; what came beside it later, such as feedback, is among them. */
export function eventsOf(events: EventList, turn: Turn | undefined): readonly Event[] {
  if (!turn) return [];
  let low = 0, high = events.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((events.at(middle)?.seq ?? 0) < turn.seq) low = middle + 1;
    else high = middle;
  }
  return events.slice(low).filter((event) => event.turn_id === turn.id);
}
