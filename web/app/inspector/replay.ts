// A replay in the place of the session on the screen: from its log, or from a file of which nothing is sent anywhere.

import { emptyConversation, type Event } from "@chat-gateway/client";

import { app, client, live, NOTHING } from "../state";
import { createStore, useStore } from "../store";
import { BadFile, readRecording } from "./export-file";
import { type Playing, Player } from "./player";

export interface Replay {
  /** null: there is none. */
  readonly playing: Playing | null;
  /** The title of a recording; null for the session on the screen. */
  readonly recording: string | null;
  /** How many events there will be; more than are known while they are loaded. */
  readonly expected: number;
  readonly problem: BadFile | Error | null;
  readonly loading: boolean;
}

const NONE: Replay = { playing: null, recording: null, expected: 0, problem: null, loading: false };
const PAGE = 1000;

export const replay = createStore<Replay>(NONE);

export function useReplay(): Replay {
  return useStore(replay, (value) => value);
}

let player: Player | null = null;
let loading: AbortController | null = null;
let frame = 0;

/** Plays the session on the screen from its first event: as its pages come. */
export async function playSession(session: string): Promise<void> {
  const signal = begin();
  try {
    for (let after = 0; ;) {
      const page = await client.events(session, { after, limit: PAGE }, { signal });
      if (signal.aborted) return;
      if (player) extend(page.events);
      else show(page.events, null);
      replay.set({ expected: page.head, loading: page.next !== undefined });
      if (page.next === undefined) return;
      after = page.next;
    }
  } catch (error) {
    fail(error, signal);
  }
}

export async function playFile(file: Blob): Promise<void> {
  const signal = begin();
  try {
    const { events, title } = await readRecording(file, signal);
    if (signal.aborted) return;
    show(events, title);
    replay.set({ expected: events.length, loading: false });
  } catch (error) {
    fail(error, signal);
  }
}

/** Whatever changes the replay: it is drawn afterwards. */
export function control(change: (player: Player) => void): void {
  if (!player) return;
  change(player);
  draw();
  run();
}

/** The session itself is on the screen again. */
export function endReplay(): void {
  forget();
  replay.set(NONE);
  const shown = app.get().replay;
  if (shown) app.set({ ...shown.live, replay: null });
}

// Another session, or a failure of the page, ends a replay from outside.
app.subscribe(() => {
  if (player && app.get().replay === null) {
    forget();
    replay.set(NONE);
  }
});

function begin(): AbortSignal {
  endReplay();
  loading = new AbortController();
  replay.set({ ...NONE, loading: true });
  return loading.signal;
}

function fail(error: unknown, signal: AbortSignal): void {
  if (!signal.aborted) replay.set({ problem: error as Error, loading: false });
}

function forget(): void {
  loading?.abort();
  cancelAnimationFrame(frame);
  player = null;
  frame = 0;
}

function show(events: readonly Event[], recording: string | null): void {
  const before = live();
  player = new Player(events);
  player.play();
  app.set({
    ...NOTHING, conversation: emptyConversation(), state: "ready",
    replay: {
      live: { conversation: before.conversation, events: before.events, state: before.state, error: before.error, link: before.link, details: before.details },
      recording,
    },
  });
  replay.set({ recording, playing: player.get() });
  draw();
  run();
}

function extend(events: readonly Event[]): void {
  player?.extend(events);
  draw();
  run();
}

function draw(): void {
  if (!player) return;
  const playing = player.get();
  replay.set({ playing });
  if (app.get().conversation !== playing.conversation) app.set({ conversation: playing.conversation, events: player.known() });
}

function run(): void {
  if (frame !== 0 || !player?.get().isPlaying) return;
  let before = performance.now();
  const next = (now: number) => {
    frame = 0;
    if (!player) return;
    player.tick(Math.max(0, now - before));
    before = now;
    draw();
    if (player.get().isPlaying) frame = requestAnimationFrame(next);
  };
  frame = requestAnimationFrame(next);
}
