// Which chats are temporary, as far as the page knows, and their end: when the reader opens another chat.

import { app, client } from "../state";
import { createStore, useStore } from "../store";

const known = createStore<Record<string, boolean>>({});

export const useTemporary = (session: string): boolean => useStore(known, (all) => all[session] === true);

export function noteTemporary(session: string, isTemporary = true): void {
  if (known.get()[session] !== isTemporary) known.set({ [session]: isTemporary });
}

let before: string | null = null;

app.subscribe(() => {
  const { session, page } = app.get().place;
  if (page !== null || session === before) return; // a page beside the chat does not end it
  const left = before;
  before = session;
  // One in which a turn runs is refused: it goes a day after.
  if (left !== null && known.get()[left] === true) void client.deleteSession(left).catch(() => undefined);
});
