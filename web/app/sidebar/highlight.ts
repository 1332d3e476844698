// A text in pieces, some of which are marked.

export interface MarkedSpan {
  readonly text: string;
  readonly hit: boolean;
}

// Scripts without blanks between words, in which each character is looked for where it stands; and words of the others.
const UNSPACED = ["Han", "Hiragana", "Katakana", "Hangul", "Thai", "Lao", "Khmer", "Myanmar"].map((each) => `\\p{Script=${each}}`).join("");
const RUN = new RegExp(`[${UNSPACED}]+|(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}_])+`, "gu");
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, "u");
const PART = /[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^A-Za-z\d_]+/gu; // of getUserById, get_user, Python3
const STEM = 3; // letters that an ending may have: `runs` finds `running` in the search, and is marked in it
const PLAIN: Readonly<Record<string, string>> = { đ: "d", ø: "o", ł: "l", ı: "i" };

// `text` in pieces, with what `query` looked for marked, by the rule of the search: words and parts of words from their
// beginning, in any case and with any accents, and Chinese characters wherever they stand.
export function marked(text: string, query: string): MarkedSpan[] {
  const words = [...query.matchAll(RUN)].map(([word]) => word);
  const plain = words.filter((word) => !IS_UNSPACED.test(word)).map(folded).map((word) => ({ word, stem: stemOf(word) }));
  const isHit = (written: string) => {
    const here = folded(written);
    return plain.some(({ word, stem }) => here.startsWith(word) || here.startsWith(stem) && here.length <= stem.length + STEM);
  };
  const ranges: [number, number][] = [];
  for (const run of words.filter((word) => IS_UNSPACED.test(word))) {
    for (let at = text.indexOf(run); at >= 0; at = text.indexOf(run, at + run.length)) ranges.push([at, at + run.length]);
  }
  for (const { 0: written, index } of plain.length > 0 ? text.matchAll(RUN) : []) {
    if (IS_UNSPACED.test(written)) continue;
    if (isHit(written)) {
      ranges.push([index, index + written.length]);
      continue;
    }
    for (const { 0: part, index: at } of written.matchAll(PART)) {
      if (part.length < written.length && isHit(part)) ranges.push([index + at, index + at + part.length]);
    }
  }
  return markedSpans(text, ranges);
}

function folded(word: string): string {
  return word.normalize("NFKD").replace(/\p{M}|_/gu, "").toLowerCase().replace(/[đøłı]/g, (letter) => PLAIN[letter] ?? letter);
}

// `text` in pieces, with the characters in `ranges` (from, until) marked.
export function markedSpans(text: string, ranges: readonly (readonly [number, number])[]): MarkedSpan[] {
  const pieces: MarkedSpan[] = [];
  let at = 0;
  for (const [from, until] of [...ranges].sort(([a], [b]) => a - b)) {
    if (until <= at) continue;
    if (from > at) pieces.push({ text: text.slice(at, from), hit: false });
    const last = pieces.at(-1);
    const hit = text.slice(Math.max(from, at), until);
    if (last?.hit === true) pieces[pieces.length - 1] = { text: last.text + hit, hit: true };
    else pieces.push({ text: hit, hit: true });
    at = until;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), hit: false });
  return pieces;
}

function stemOf(word: string): string {
  return word.length > 4 ? word.replace(/(?:ing|ed|es|s|e|y)$/, "") : word.replace(/s$/, "");
}
