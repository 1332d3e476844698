// Chats as files: one, or all of them in one file.

import type { api } from "@chat-gateway/client";

import type { Language } from "./language";
import { completeExport } from "./downloads";
import { client } from "./state";
import { words as table } from "./frame-words";

const OF_ALL = '{"kind":"sessions",'; // how a file with all of them begins
const LAST_LINE = 65_536; // bytes in which the last line is looked for

// All chats of the reader. `leftOut`: how many are not in it, as an answer is on its way in them.
export async function exportChats(): Promise<{ readonly file: File; readonly leftOut: number }> {
  const file = await completeExport(await client.exportSessions());
  const last = (await file.slice(-LAST_LINE).text()).trimEnd().split("\n").at(-1) ?? "";
  if (!last.startsWith('{"kind":"sessions_end"')) return { file, leftOut: 0 }; // of very many the line is longer
  return { file, leftOut: (JSON.parse(last) as { left_out: readonly unknown[] }).left_out.length };
}

// Makes the chats that are in a file. `session`: the one that it is of, where it is of one.
export async function importChats(file: Blob): Promise<{ readonly session: api.Session | null; readonly outcome: api.ImportedSessions }> {
  if (await file.slice(0, OF_ALL.length).text() === OF_ALL) return { session: null, outcome: await client.importSessions(file) };
  return { session: await client.importSession(file), outcome: { imported: 1, refused: 0, reasons: [] } };
}

export function inWordsOf({ imported, refused, reasons }: api.ImportedSessions, language: Language): string {
  const words = table[language];
  return [words.importedChats(imported), refused > 0 ? words.refusedChats(refused, reasons[0]?.message ?? "") : ""].filter(Boolean).join(" ");
}
