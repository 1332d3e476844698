// The chat on the screen as the server knows it: whose it is, and what the reader may do with it.

import { useApp } from "../state";
import { useStore } from "../store";
import { type Chat, chats } from "./chats";

export type Need = "read" | "write" | "manage" | "own";

// Whether the reader may do that with the chat; one that is not known yet is theirs.
export const may = (chat: Pick<Chat, "may"> | null, need: Need): boolean => chat?.may === undefined || (need !== "own" && chat.may.includes(need));

export function useChat(session: string | null): Chat | null {
  const listed = useStore(chats.store, ({ chats: own, shared }) => own.find(({ id }) => id === session) ?? shared.chats.find(({ id }) => id === session));
  const opened = useApp(({ details, replay }) => (replay ? replay.live.details : details));
  return listed ?? (opened?.id === session ? opened : null);
}

// Whether the reader may write in the session: send, stop, decide, rate. In a replay nobody may.
export function useMayWrite(session: string | null): boolean {
  const chat = useChat(session);
  const isReplay = useApp(({ replay }) => replay !== null);
  return !isReplay && may(chat, "write");
}
