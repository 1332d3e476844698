import type { Language } from "../language";
import type { Page } from "../page-address";
import { words } from "../frame-words";
import { pageSettings } from "../page-settings";

// The title of the tab: what waits, what is shown, and whose page it is.
export function titleOf({ name, page, waiting, language }: { name: string | null; page: Page | null; waiting: number; language: Language }): string {
  const shown = page === null ? name : words[language].pages[page];
  return `${waiting > 0 ? `(${waiting}) ` : ""}${shown === null ? pageSettings.name : `${shown} · ${pageSettings.name}`}`;
}

// What a chat is called on the page. A model writes Markdown also where it is asked for a title.
export function shownTitle({ title, title_by: by }: { readonly title?: string; readonly title_by?: string }, untitled: string): string {
  if (title === undefined) return untitled;
  if (by !== "model") return title;
  const plain = title.replace(/^#+\s+/, "").replace(/(\*\*|__|`)(?=\S)(.+?)(?<=\S)\1/g, "$2").trim();
  return plain === "" ? title : plain;
}
