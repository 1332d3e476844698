// Three languages: each part of the page has a table of its words in all of them, which its type checks.

export const LANGUAGES = ["en", "zh-Hans", "zh-Hant"] as const;
export type Language = (typeof LANGUAGES)[number];

// A text, a text made of arguments, or a group of these.
export interface Words {
  readonly [name: string]: string | ((...parts: never[]) => string) | Words;
}

type Alike<W> = {
  readonly [K in keyof W]: W[K] extends string ? string : W[K] extends (...parts: infer P) => string ? (...parts: P) => string : Alike<W[K]>;
};

export type Table<W> = Readonly<Record<Language, Alike<W>>>;

// The words of a part of the page. The other languages must have exactly the words of the first.
export function table<const W extends Words>(english: W, simplified: Alike<W>, traditional: Alike<W>): Table<W> {
  return { en: english as unknown as Alike<W>, "zh-Hans": simplified, "zh-Hant": traditional };
}

// Sentences one after the other: a full stop of Chinese has its space within.
export const inARow = (...sentences: readonly string[]): string => sentences.join(" ").replaceAll(/(?<=[。！？]) /g, "");

// The language of ours that a reader of `wanted`, best first, understands best.
export function languageOf(wanted: readonly string[]): Language {
  for (const each of wanted) {
    const tag = each.toLowerCase();
    if (tag.startsWith("en")) return "en";
    if (/^zh-(hant|tw|hk|mo)\b/.test(tag)) return "zh-Hant";
    if (tag.startsWith("zh")) return "zh-Hans";
  }
  return "en";
}
