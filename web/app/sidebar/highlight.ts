// A text in pieces, some of which are marked.

export interface MarkedSpan {
  readonly text: string;
  readonly hit: boolean;
}

const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const WORDS = /[\p{L}\p{N}\p{M}_]+/gu;
const STEM = 3; // letters that an ending may have: `runs` finds `running` in the search, and is marked in it

// `text` in pieces, with what `query` looked for marked: words from their beginning in any case, and Chinese
// characters wherever they stand.
export function marked(text: string, query: string): MarkedSpan[] {
  const words = [...query.matchAll(WORDS)].map(([word]) => word.toLowerCase());
  const ranges: [number, number][] = [];
  for (const word of words) {
    for (const run of word.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+/gu) ?? []) {
      for (let at = text.indexOf(run); at >= 0; at = text.indexOf(run, at + run.length)) ranges.push([at, at + run.length]);
    }
  }
  const plain = words.filter((word) => !CJK.test(word)).map((word) => ({ word, stem: stemOf(word) }));
  for (const found of plain.length > 0 ? text.matchAll(WORDS) : []) {
    const here = found[0].toLowerCase();
    const isHit = plain.some(({ word, stem }) => here.startsWith(word) || here.startsWith(stem) && here.length <= stem.length + STEM);
    if (isHit) ranges.push([found.index, found.index + found[0].length]);
  }
  return markedSpans(text, ranges);
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
