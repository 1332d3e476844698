// The session on the screen follows the address.

import { LiveSession } from "@chat-gateway/client";

import { EventLog } from "./event-log";
import { app, client, NOTHING, setLive } from "./state";

let opened: LiveSession | null = null;

// Keeps the session of the address on the screen.
export function followPlace(): void {
  const look = () => {
    const { session } = app.get().place;
    if (session === (opened?.session ?? null)) return;
    opened?.close();
    opened = session === null ? null : open(session); // first: what is set next comes back here
    app.set({ ...NOTHING, replay: null, state: session === null ? "none" : "loading" });
  };
  app.subscribe(look);
  look();
}

// Opens the session anew, after a failure.
export function reopen(): void {
  if (!opened) return;
  opened.close();
  setLive({ ...NOTHING, state: "loading" });
  opened = open(opened.session);
}

// Puts the page of the log before the first known event in front; does nothing where that is the session's first.
export function loadOlder(): Promise<void> {
  return opened?.loadOlder() ?? Promise.resolve();
}

function open(session: string): LiveSession {
  let events = EventLog.of([]);
  return new LiveSession(client, session, {
    onEvents: (some, place) => { events = place === "older" ? events.behind(some) : events.with(some); },
    onChange: (view) => setLive({ ...view, events }),
  });
}
