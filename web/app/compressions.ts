// Which summary of a chat is in force: no event of its log tells what was undone.

import type { api } from "@chat-gateway/client";
import { useEffect } from "react";

import { client, useApp } from "./state";
import { createStore, useStore } from "./store";

const inForce = createStore<Readonly<Record<string, number>>>({}); // versions by session; 0: none is
const asked = new Map<string, number>(); // the newest version with which it was asked

export function noteInForce(session: string, { active = 0 }: api.CompressionList): void {
  inForce.set({ [session]: active });
}

// Whether a version was undone. One that a newer version follows was not.
export function useUndone(session: string, version: number): boolean {
  const active = useStore(inForce, (all) => all[session]);
  const isReplay = useApp(({ replay }) => replay !== null);
  useEffect(() => {
    if (isReplay || (asked.get(session) ?? 0) >= version) return;
    asked.set(session, version);
    client.compressions(session).then((list) => noteInForce(session, list), () => asked.delete(session));
  }, [session, version, isReplay]);
  return !isReplay && active !== undefined && active < version;
}
