// Questions that are being changed, by their place in the conversation: another variant may be shown there meanwhile,
// which another tab has asked.

import type { AttachedFile, Turn } from "@chat-gateway/client";

import { createStore, useStore } from "../store";

export interface Change {
  readonly text: string;
  readonly files: readonly AttachedFile[];
}

const changing = createStore<Record<string, Change | undefined>>({});

const placeOf = (session: string, { parentId = "root" }: Turn): string => `${session} ${parentId}`;

export const useChange = (session: string, turn: Turn): Change | undefined => useStore(changing, (all) => all[placeOf(session, turn)]);

// undefined: it is sent, or given up.
export function setChange(session: string, turn: Turn, change: Change | undefined): void {
  changing.set({ [placeOf(session, turn)]: change });
}
