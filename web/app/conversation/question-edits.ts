// Questions that are being changed, by their place in the conversation: another variant may be shown there meanwhile,
// which another tab has asked.

import type { AttachedFile, Turn } from "@chat-gateway/client";

import { may } from "../sidebar/shared-chats";
import { app } from "../state";
import { createStore, useStore } from "../store";
import { openTurnId } from "./running";

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

// Begins to change the last question, where that can be. Whether it can.
export function editLastQuestion(session: string | null): boolean {
  const { conversation, details, place, replay } = app.get();
  const turn = conversation.turns.get(conversation.path.at(-1) ?? "");
  if (session === null || session !== place.session || replay !== null || !turn?.start || openTurnId() !== undefined || !may(details, "write")) return false;
  setQuestionEdit(session, turn, { text: turn.input, files: turn.attachments });
  return true;
}
