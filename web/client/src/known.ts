import type { Event } from "./conversation.js";
import type { KnownEvent } from "./events.js";
import { EVENT_TYPES } from "./events.js";

const KNOWN: ReadonlySet<string> = new Set(EVENT_TYPES);

/** Whether this version knows the type; a `switch` on it narrows the event then. */
export function isKnown(event: Event): event is KnownEvent {
  return KNOWN.has(event.type);
}
