import { afterEach, expect, it } from "vitest";

import { settings } from "../settings";
import { noteInWords } from "./recall-notes";

afterEach(() => settings.set({ language: "en" }));

it.each([
  ["zh-Hans", "It stands in the prompt of this session: everything, in full.", "全部记忆都已完整写入本会话的提示词。"],
  ["zh-Hans", "It stands in the prompt of this session: 3 in full, 2 by their summaries, 1 counted.", "本会话的提示词中：完整 3 条，摘要 2 条，另有 1 条只计数。"],
  ["zh-Hant", "It is about the user themselves (“我的”).", "與使用者本人有關（「我的」）。"],
  ["zh-Hant", "A sentence of a newer server.", "A sentence of a newer server."],
  ["en", "It was changed since this session began.", "It was changed since this session began."],
] as const)("says in %s: %s", (language, note, said) => {
  settings.set({ language });
  expect(noteInWords(note)).toBe(said);
});
