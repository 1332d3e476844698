// What is read out while an answer streams: that something waits for the reader, was remembered, or is over; not the text.

import type { Event } from "@chat-gateway/client";
import { isKnown } from "@chat-gateway/client";

import { announce, app } from "../state";
import { languageNow } from "../settings";
import { fill } from "./speech";
import { spokenOf } from "./MemoryCard";
import { words as table } from "./conversation-words";

// Begins to read out what happens in the session on the screen; called once.
export function keepAnnouncing(): void {
  let session: string | null = null;
  let announced = -1; // `seq` of the last event that was looked at; -1: what is there already is not news
  app.subscribe(() => {
    const { place, state, events } = app.get();
    if (place.session !== session || state !== "ready") {
      session = place.session;
      announced = -1;
      if (state !== "ready") return;
    }
    const last = events.at(-1)?.seq ?? 0;
    if (announced >= 0 && last > announced) {
      let first = events.length;
      while (first > 0 && (events.at(first - 1)?.seq ?? 0) > announced) first -= 1;
      const said = events.slice(first).map(spoken).filter(Boolean).at(-1);
      if (said) announce(said);
    }
    announced = last;
  });
}

function spoken(event: Event): string {
  if (!isKnown(event)) return "";
  const words = table[languageNow()];
  switch (event.type) {
    case "approval_request": return fill(words.needsApproval, { name: event.data.name });
    case "memory": return spokenOf(event.data, words);
    case "done": return event.data.status === "completed" ? words.finished : words.outcomes[event.data.status];
    default: return "";
  }
}
