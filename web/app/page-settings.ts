// What the server tells the page of itself: it stands in the page, so that nothing is drawn twice.

import type { Language } from "./language";

/** One for all readers, or one for each language. */
type Worded<T> = T | Readonly<Partial<Record<Language, T>>>;

export interface PageSettings {
  readonly name: string;
  /** There is one, at `./logo`. */
  readonly logo: boolean;
  /** null: the page's own words. */
  readonly greeting: Worded<string> | null;
  readonly suggestions: Worded<readonly string[]> | null;
  /** Developer tools are shown to who has not chosen. */
  readonly developer: boolean;
}

// Where no gateway has written into the page: in front of a development server.
const OWN: PageSettings = { name: "Chat Gateway", logo: false, greeting: null, suggestions: null, developer: true };

export const pageSettings: PageSettings = { ...OWN, ...told() };

function told(): Partial<PageSettings> {
  const text = document.querySelector<HTMLMetaElement>('meta[name="page-settings"]')?.content ?? "";
  return text === "" ? {} : JSON.parse(text) as Partial<PageSettings>;
}

// That of the reader's language, else of another Chinese or of English, else any; null: the operator set none.
export function inLanguage<T extends string | readonly string[]>(given: Worded<T> | null, language: Language): T | null {
  if (given === null || typeof given === "string" || Array.isArray(given)) return given as T | null;
  const table = given as Readonly<Partial<Record<Language, T>>>;
  const order: readonly Language[] = language === "en" ? ["en"] : [language, "zh-Hans", "zh-Hant", "en"];
  return order.map((each) => table[each]).find((each) => each !== undefined) ?? Object.values(table)[0] ?? null;
}
