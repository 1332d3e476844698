// What the gateway knows of the models: how much each reads and writes, and what it takes.

import type { api } from "@chat-gateway/client";

import type { words as table } from "./frame-words";
import { app, client } from "./state";
import { createStore, useStore } from "./store";

type Words = (typeof table)["en"];

const known = createStore<{ readonly found: api.ChoosableModels | null }>({ found: null });

export async function readModels(): Promise<void> {
  try {
    known.set({ found: await client.models() });
  } catch {
    // The page works without: it only tells.
  }
}

// An endpoint may say what it has after the page was opened: a turn of a model that was not known asks again.
export function followModels(): void {
  let last: string | undefined;
  app.subscribe(() => {
    const { path, turns } = app.get().conversation;
    const model = turns.get(path.at(-1) ?? "")?.start?.model;
    if (model === undefined || model === last) return;
    last = model;
    if (!known.get().found?.models.some(({ id }) => id === model)) void readModels();
  });
}

export const useKnownModels = (): api.ChoosableModels | null => useStore(known, ({ found }) => found);

export const useDefaultModel = (): string | undefined => useStore(known, ({ found }) => found?.models[0]?.id);

// In a line: what it reads at once, writes, and does not take.
export function aboutModel(model: api.ChoosableModel, words: Words, language: string): string {
  const count = (tokens: number) => tokens.toLocaleString(language);
  const lacks = ([["images", model.images], ["pdfs", model.pdfs], ["tools", model.tools]] as const)
    .filter(([, takes]) => takes === false)
    .map(([name]) => words.takesNo[name]);
  const ending = model.lifecycle === "deprecated" || model.lifecycle === "retired" ? [words.retires(model.retires_at)] : [];
  return [words.reads(count(model.context_window.tokens)), words.writes(count(model.max_output.tokens)), ...lacks, ...ending].join(" · ");
}
