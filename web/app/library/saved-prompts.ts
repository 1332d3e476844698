// Prompts that are called by `/name`, and personas with which a chat begins: the reader's, their projects', everybody's.

import type { api } from "@chat-gateway/client";

import { client } from "../state";
import { createStore, useStore } from "../store";

export type SavedPrompt = api.SavedPromptReply;

const NONE: readonly SavedPrompt[] = [];
export const savedPrompts = createStore<{ readonly all: readonly SavedPrompt[] | null }>({ all: null });

let asking: Promise<void> | null = null;

// Asks once for all who want them; a failure is asked for again.
export function readSavedPrompts(isAnew = false): Promise<void> {
  if (savedPrompts.get().all !== null && !isAnew) return Promise.resolve();
  asking ??= client.savedPrompts()
    .then(({ saved_prompts: all }) => savedPrompts.set({ all }), () => undefined) // the page is whole without
    .finally(() => { asking = null; });
  return asking;
}

const ofKind = (kind: SavedPrompt["kind"]) => {
  let known: readonly SavedPrompt[] | null = null;
  let found: readonly SavedPrompt[] = NONE;
  return (all: readonly SavedPrompt[] | null) => {
    if (all !== known) [known, found] = [all, all?.filter((each) => each.kind === kind) ?? NONE];
    return found;
  };
};
const prompts = ofKind("prompt");
const personas = ofKind("persona");

export const usePrompts = (): readonly SavedPrompt[] => useStore(savedPrompts, ({ all }) => prompts(all));
export const usePersonas = (): readonly SavedPrompt[] => useStore(savedPrompts, ({ all }) => personas(all));

// `isForAll`: for everybody, which is for admins.
export async function savePrompt(body: api.OwnSavedPromptBody, isForAll = false): Promise<void> {
  await client.savePrompt(body, isForAll);
  await readSavedPrompts(true);
}

export async function changePrompt({ id, for_all: isForAll }: SavedPrompt, edits: api.SavedPromptEdits): Promise<void> {
  await client.changeSavedPrompt(id, edits, isForAll);
  await readSavedPrompts(true);
}

export async function removePrompt({ id, for_all: isForAll }: SavedPrompt): Promise<void> {
  await client.deleteSavedPrompt(id, isForAll);
  await readSavedPrompts(true);
}

const FIELD = /\{\{\s*([\p{L}\p{N}_][\p{L}\p{N}_ .-]{0,63}?)\s*\}\}/gu;

// The names of the fields of a prompt, each once, in their order.
export function fieldsOf(text: string): string[] {
  return [...new Set([...text.matchAll(FIELD)].map(([, name = ""]) => name))];
}

// The prompt with its fields filled in. What is filled in is taken as it is: it has no fields of its own.
export function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(FIELD, (whole, name: string) => values[name] ?? whole);
}
