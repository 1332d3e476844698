import type { Language } from "../language";
import type { Page } from "../page-address";
import { words } from "../frame-words";
import { pageSettings } from "../page-settings";

// The title of the tab: what waits, what is shown, and whose page it is.
export function titleOf({ name, page, waiting, language }: { name: string | null; page: Page | null; waiting: number; language: Language }): string {
  const shown = page === null ? name : words[language].pages[page];
  return `${waiting > 0 ? `(${waiting}) ` : ""}${shown === null ? pageSettings.name : `${shown} · ${pageSettings.name}`}`;
}
