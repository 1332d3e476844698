// Questions that are being changed, by their place in the conversation: another variant may be shown there meanwhile,
// which another tab has asked.

import type { AttachedFile, Turn } from "@chat-gateway/client";

import { createStore, useStore } from "../store";

export interface QuestionEdit {
  readonly text: string;
  readonly files: readonly AttachedFile[];
}

const questionEdits = createStore<Record<string, QuestionEdit | undefined>>({});

const placeOf = (session: string, { parentId = "root" }: Turn): string => `${session} ${parentId}`;

export const useQuestionEdit = (session: string, turn: Turn): QuestionEdit | undefined => useStore(questionEdits, (all) => all[placeOf(session, turn)]);

// undefined: it is sent, or given up.
export function setQuestionEdit(session: string, turn: Turn, change: QuestionEdit | undefined): void {
  questionEdits.set({ [placeOf(session, turn)]: change });
}
