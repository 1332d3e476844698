// How well a name fits what was typed: its characters in their order, the better the closer they stand.

export interface Fit {
  /** The higher, the better. */
  readonly score: number;
  /** The characters that were typed, as ranges (from, until) of the name. */
  readonly ranges: readonly (readonly [number, number])[];
}

const START = 8; // of a word
const NEXT = 5; // right after the one before
const GAP = 1; // taken away for each character in between, up to MAX_GAP
const MAX_GAP = 6;
const MAX_LENGTH = 200; // characters of a name that are looked at

// null where it does not fit. Spaces that were typed separate words that fit in any order.
export function fit(name: string, typed: string): Fit | null {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.map((word) => fitWord(name.slice(0, MAX_LENGTH).toLowerCase(), word));
  if (found.some((each) => each === null)) return null;
  const fits = found.filter((each) => each !== null);
  return {
    score: fits.reduce((sum, { score }) => sum + score, 0) - name.length / MAX_LENGTH,
    ranges: fits.flatMap(({ ranges }) => ranges),
  };
}

// The best of `choices` first, those that do not fit left out; in their own order where nothing was typed.
export function best<T>(choices: readonly T[], typed: string, nameOf: (choice: T) => string): { choice: T; fit: Fit }[] {
  return choices
    .map((choice) => ({ choice, fit: fit(nameOf(choice), typed) }))
    .filter((each): each is { choice: T; fit: Fit } => each.fit !== null)
    .sort((one, other) => typed.trim() === "" ? 0 : other.fit.score - one.fit.score);
}

// The best way to find the characters of `word` in `name`: for each end in `name`, the best score so far.
function fitWord(name: string, word: string): Fit | null {
  const whole = name.indexOf(word);
  if (whole >= 0) {
    const starts = isStart(name, whole) ? whole : startOf(name, word) ?? whole;
    const bonus = isStart(name, starts) ? START : 0;
    return { score: bonus + word.length * (NEXT + START / 2), ranges: [[starts, starts + word.length]] };
  }
  interface Way { readonly score: number; readonly at: readonly number[] }
  let ways: (Way | null)[] = [];
  for (let letter = 0; letter < word.length; letter += 1) {
    const next: (Way | null)[] = [];
    let before: Way | null = null; // the best way that ends before `at`, as it would be worth here
    for (let at = 0; at < name.length; at += 1) {
      const adjacent = at > 0 ? ways[at - 1] ?? null : null;
      if (name[at] === word[letter]) {
        const bonus = isStart(name, at) ? START : 1;
        const near = adjacent && { score: adjacent.score + NEXT + bonus, at: [...adjacent.at, at] };
        const far: Way | null = letter === 0 ? { score: bonus, at: [at] } : before && { score: before.score + bonus, at: [...before.at, at] };
        next[at] = near && (!far || near.score >= far.score) ? near : far;
      } else next[at] = null;
      if (adjacent && (!before || adjacent.score >= before.score)) before = adjacent;
      if (before && at - (before.at.at(-1) ?? 0) <= MAX_GAP) before = { ...before, score: before.score - GAP };
    }
    ways = next;
  }
  const top = ways.reduce<Way | null>((one, other) => other && (!one || other.score > one.score) ? other : one, null);
  return top && { score: top.score, ranges: top.at.map((at) => [at, at + 1] as const) };
}

function startOf(name: string, word: string): number | null {
  for (let at = name.indexOf(word); at >= 0; at = name.indexOf(word, at + 1)) if (isStart(name, at)) return at;
  return null;
}

function isStart(name: string, at: number): boolean {
  return at === 0 || !/[\p{L}\p{N}]/u.test(name[at - 1] ?? "") || /\p{Script=Han}/u.test(name[at] ?? "");
}
