// Who the reader is for the gateway, and which models their messages may go to.

import type { api } from "@chat-gateway/client";

import { settings, useSettings } from "./settings";
import { app, client, useApp } from "./state";
import { createStore, useStore } from "./store";

export const caller = createStore<{ readonly me: api.Caller | null }>({ me: null });

export async function readCaller(): Promise<void> {
  try {
    caller.set({ me: await client.me() });
  } catch {
    // The page works without: it only tells, and offers no other model.
  }
}

// --- the model of the next message ---------------------------------------------------------------------------------

const picked = createStore<Record<string, string>>({}); // by the chat, until a turn has it

const NONE: readonly string[] = [];
export const useModels = (): readonly string[] => useStore(caller, ({ me }) => me?.models ?? NONE);

interface Known {
  readonly picked: string | undefined;
  /** Of the chat's newest turn. */
  readonly last: string | undefined;
  /** For new chats. */
  readonly usual: string | null;
}

// What the next message of a chat goes to; undefined where there is nothing to choose.
export function choiceOf(models: readonly string[], { picked: now, last, usual }: Known): string | undefined {
  if (models.length < 2) return undefined;
  return [now, last, usual ?? undefined].find((each) => each !== undefined && models.includes(each)) ?? models[0];
}

const newest = (): string | undefined => {
  const { path, turns } = app.get().conversation;
  return turns.get(path.at(-1) ?? "")?.start?.model;
};

export function pickModel(session: string | null, model: string): void {
  picked.set({ [session ?? ""]: model });
}

export function useModel(session: string | null): string | undefined {
  const models = useModels();
  const usual = useSettings(({ model }) => model);
  const now = useStore(picked, (all) => all[session ?? ""]);
  const last = useApp(newest);
  return choiceOf(models, { picked: now, last: session === null ? undefined : last, usual });
}

// As `useModel`, for what is sent now: `{}` or `{ model }`.
export function modelNow(session: string | null): { model?: string } {
  const { model: usual } = settings.get();
  const last = session === null ? undefined : newest();
  const model = choiceOf(caller.get().me?.models ?? NONE, { picked: picked.get()[session ?? ""], last, usual });
  return model === undefined ? {} : { model };
}
