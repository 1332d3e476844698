// The session on the screen: the newest page of its log, older pages as they are asked for, and what happens now.

import { type Event, emptyConversation, followSession, prepend, reduceAll, Refused, Unreachable } from "@chat-gateway/client";

import { type EventList, EventLog } from "./event-log";
import { noteTemporary } from "./folders/temporary";
import { app, client, live, NOTHING, setLive } from "./state";

const PAGE = 500;
const FRAME_MS = 16;

let opened: { readonly session: string; readonly ending: AbortController } | null = null;
let older: Promise<void> | null = null;

// Keeps the session of the address on the screen.
export function followPlace(): void {
  const look = () => {
    const { session } = app.get().place;
    if (session === (opened?.session ?? null)) return;
    opened?.ending.abort();
    opened = session === null ? null : { session, ending: new AbortController() };
    older = null;
    waiting = [];
    app.set({ ...NOTHING, replay: null, state: session === null ? "none" : "loading" });
    if (opened) void open(opened.session, opened.ending.signal);
  };
  app.subscribe(look);
  look();
}

// Opens the session anew, after a failure.
export function reopen(): void {
  if (!opened) return;
  opened.ending.abort();
  opened = { session: opened.session, ending: new AbortController() };
  waiting = [];
  setLive({ ...NOTHING, state: "loading" });
  void open(opened.session, opened.ending.signal);
}

// Puts the page of the log before the first known event in front; does nothing where that is the session's first.
export function loadOlder(): Promise<void> {
  const here = opened;
  const { first } = live().conversation;
  if (!here || first <= 1) return Promise.resolve();
  older ??= (async () => {
    try {
      const events = await client.eventsBefore(here.session, first, PAGE, { signal: here.ending.signal });
      await new Promise((resolve) => setTimeout(resolve, FRAME_MS)); // a frame for reading the page, another for drawing it
      if (here !== opened) return;
      const { conversation, events: known } = live();
      setLive({ conversation: prepend(conversation, events), events: logOf(known).behind(events) });
    } finally {
      older = null;
    }
  })();
  return older;
}

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 15_000;

async function open(session: string, signal: AbortSignal): Promise<void> {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, MAX_WAIT_MS)) {
    try {
      const { head, temporary } = await client.session(session);
      noteTemporary(session, temporary === true);
      const page = head > 0 ? await client.eventsBefore(session, head + 1, PAGE, { signal }) : [];
      if (signal.aborted) return;
      setLive({ conversation: reduceAll(emptyConversation(), page), events: EventLog.of(page), state: "ready" });
      await followSession(client, session, {
        after: page.at(-1)?.seq ?? 0, onEvents: take, onLink: (link) => setLive({ link }), signal,
      });
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (!mayHelpLater(error)) {
        const isGone = error instanceof Refused && error.status === 404;
        setLive({ state: isGone ? "gone" : "failed", error: error as Error });
        return;
      }
      setLive({ link: { state: "lost", error, retryAt: Date.now() + wait } });
    }
    if (await pause(wait, signal)) return;
  }
}

function mayHelpLater(error: unknown): error is Refused | Unreachable {
  return error instanceof Unreachable || (error instanceof Refused && error.retryable);
}

// Whether it was called off; it also ends when the browser is online again.
function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(end, ms);
    function end() {
      clearTimeout(timer);
      removeEventListener("online", end);
      resolve(signal.aborted);
    }
    addEventListener("online", end);
    signal.addEventListener("abort", end, { once: true });
  });
}

let waiting: Event[] = [];

// One update of the screen for all that came within a frame.
function take(events: readonly Event[]): void {
  if (waiting.length === 0) setTimeout(show, FRAME_MS, opened);
  waiting.push(...events);
}

function show(here: typeof opened): void {
  if (here !== opened) return; // what waits is of another session
  const events = waiting;
  waiting = [];
  const { conversation, events: known } = live();
  setLive({ conversation: reduceAll(conversation, events), events: logOf(known).with(events) });
}

const logOf = (events: EventList): EventLog => events instanceof EventLog ? events : EventLog.of(events);
