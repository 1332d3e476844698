// The chats that are chosen in the list, for something to be done with all of them.

import type { api } from "@chat-gateway/client";

import { client } from "../state";
import { createStore, useStore } from "../store";
import type { Chat } from "./chats";
import { may } from "./shared-chats";

const PAGE = 200;

interface SeveralState {
  /** By their ids, in the order in which they were chosen; null: nobody is choosing. */
  readonly chosen: ReadonlyMap<string, Chat> | null;
}

export const several = createStore<SeveralState>({ chosen: null });

export const useIsChoosing = (): boolean => useStore(several, ({ chosen }) => chosen !== null);
export const useIsChosen = (id: string): boolean => useStore(several, ({ chosen }) => chosen?.has(id) === true);

/** Begins with these, or chooses just them. What is another's is left out. */
export function chooseOnly(chats: readonly Chat[]): void {
  several.set({ chosen: new Map(chats.filter((chat) => may(chat, "own")).map((chat) => [chat.id, chat])) });
}

export function choose(chat: Chat, isChosen: boolean): void {
  const chosen = new Map(several.get().chosen ?? []);
  if (isChosen) chosen.set(chat.id, chat);
  else chosen.delete(chat.id);
  several.set({ chosen });
}

export const endChoosing = (): void => several.set({ chosen: null });

/** All chats of the reader, page by page. Throws what the server refuses. */
export async function everyChat(query: api.SessionsQuery = {}): Promise<readonly Chat[]> {
  const found = new Map<string, Chat>();
  for (let before: string | undefined; ;) {
    const { sessions, next } = await client.sessions({ ...query, limit: PAGE, ...(before === undefined ? {} : { before }) });
    for (const chat of sessions) found.set(chat.id, chat);
    if (next === undefined || next === before) return [...found.values()];
    before = next;
  }
}
