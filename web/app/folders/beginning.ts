// What the next new chat begins with: a folder, a persona, instructions, or that it is temporary.

import type { api } from "@chat-gateway/client";

import { app } from "../state";
import { createStore, useStore } from "../store";

export interface Beginning {
  readonly folder: string | null;
  /** The saved prompt whose instructions these are. */
  readonly persona: string | null;
  /** null: those of the folder, if it has some. */
  readonly instructions: string | null;
  readonly isTemporary: boolean;
}

const NOTHING: Beginning = { folder: null, persona: null, instructions: null, isTemporary: false };

const beginning = createStore<Beginning>(NOTHING);

export const useBeginning = (): Beginning => useStore(beginning, (state) => state);

export const beginWith = (change: Partial<Beginning>): void => beginning.set(change);

export type FirstBody = Pick<api.SessionBody, "project_id" | "instructions" | "temporary">;

// As the server is told of it; empty where there is nothing to tell.
export function firstBody(): FirstBody {
  const { folder, instructions, isTemporary } = beginning.get();
  return {
    ...(folder === null ? {} : { project_id: folder }), ...(instructions === null ? {} : { instructions }),
    ...(isTemporary ? { temporary: true } : {}),
  };
}

// Back to what it was: the chat was not made.
export function beginAgain({ project_id: folder, instructions, temporary }: FirstBody): void {
  beginning.set({ folder: folder ?? null, instructions: instructions ?? null, persona: null, isTemporary: temporary === true });
}

// A chat or a page that is opened ends what was chosen for a new one.
app.subscribe(() => {
  const { session, page } = app.get().place;
  if ((session !== null || page !== null) && beginning.get() !== NOTHING) beginning.set(NOTHING);
});
