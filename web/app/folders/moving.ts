// A chat into a folder, or out of the one that it is in.

import type { Language } from "../language";
import { inWords } from "../pages/problems";
import { chats } from "../sidebar/chats";
import { showNotice } from "../sidebar/notice";
import type { Folder } from "./folders";
import { words as table } from "./folder-words";

type Words = (typeof table)[Language];

// null: out of its folder. Says what came of it, also where it failed.
export async function moveChat(id: string, folder: Folder | null, words: Words, language: Language): Promise<void> {
  try {
    await chats.change(id, { project_id: folder?.id ?? "" });
    showNotice({ text: folder ? words.moved(folder.name) : words.movedOut });
  } catch (error) {
    showNotice({ text: inWords(error as Error, language), isTrouble: true });
  }
}
