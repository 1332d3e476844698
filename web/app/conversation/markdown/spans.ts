/**
 * What goes over several lines and is no block of CommonMark: display formulas, comments, `<details>`. Where one of them
 * ends is asked twice: by the cut into blocks, which must not cut it, and by the reader of a block, which takes it out.
 */

const MAX_SPAN = 4_000; // characters of a formula or a comment
const MAX_DETAILS = 200_000;

/** What a formula never goes over: a fence, a heading, the next numbered step. */
const BARRIER = /\n[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?:`{3,}|~{3,})|\n {0,3}#{1,6}[ \t]|\n[ \t]*\d{1,9}[.)][ \t]/;
const BLANK = /\n[ \t>]*\n/;

/** Environments that stand for themselves, without dollars around them. */
const ENVIRONMENT = /\\begin\{((?:equation|align|alignat|gather|multline|eqnarray|split|aligned|gathered|cases|array|[bBpvV]?matrix|CD)\*?)\}/y;
const DETAILS = /<details(?: open)?>/iy;

export interface Opening {
  /** As it is written. */
  mark: string;
  kind: "dollars" | "bracket" | "environment" | "comment" | "details";
}

export function openingAt(text: string, at: number): Opening | null {
  const mark = (kind: Opening["kind"], written: string): Opening => ({ kind, mark: written });
  if (text.startsWith("$$", at)) return text[at + 2] === "$" || text[at - 1] === "$" ? null : mark("dollars", "$$");
  if (text.startsWith("\\[", at)) return mark("bracket", "\\[");
  if (text.startsWith("<!--", at)) return mark("comment", "<!--");
  ENVIRONMENT.lastIndex = at;
  const environment = ENVIRONMENT.exec(text);
  if (environment !== null) return mark("environment", environment[0]);
  DETAILS.lastIndex = at;
  const details = DETAILS.exec(text);
  return details === null ? null : mark("details", details[0]);
}

/** Where the text behind it begins; -1 where it is not closed; Infinity where it may be closed by what is not written yet. */
export function endOf(text: string, at: number, { kind, mark }: Opening): number {
  const from = at + mark.length;
  if (kind === "details") return endOfDetails(text, from);
  const reach = text.slice(from, from + MAX_SPAN);
  if (!reach.includes(CLOSING[kind])) return from + MAX_SPAN < text.length || isBarred(text, at, kind, reach) ? -1 : Infinity;
  for (const { 0: found, index } of reach.matchAll(CLOSINGS[kind])) {
    const closes = kind === "environment" ? found === mark.replace("begin", "end") : !found.startsWith("\\") || found === "\\]";
    if (closes) return (kind === "dollars" && found.length > 2) || isBarred(text, at, kind, reach.slice(0, index)) ? -1 : from + index + found.length;
  }
  return from + MAX_SPAN < text.length || isBarred(text, at, kind, reach) ? -1 : Infinity;
}

const CLOSING = { dollars: "$$", bracket: "\\]", environment: "\\end{", comment: "-->" } as const;
const CLOSINGS = { dollars: /\\[^]|\$\$+/g, bracket: /\\[^]/g, environment: /\\end\{[a-zA-Z]+\*?\}|\\[^]/g, comment: /-->/g } as const;

/** Whether what a formula never goes over is in it; one within a line goes over no empty line either. */
function isBarred(text: string, at: number, kind: Opening["kind"], within: string): boolean {
  return kind !== "comment" && within.includes("\n") && (BARRIER.test(within) || (!beginsLine(text, at) && BLANK.test(within)));
}

function endOfDetails(text: string, from: number): number {
  let depth = 1;
  for (const { 0: found, index } of text.slice(from, from + MAX_DETAILS).matchAll(/<details(?: open)?>|<\/details>/gi)) {
    depth += found.startsWith("</") ? -1 : 1;
    if (depth === 0) return from + index + found.length;
  }
  return from + MAX_DETAILS >= text.length ? Infinity : -1;
}

/** Whether only marks of lists and quotes are before it in its line. */
export function beginsLine(text: string, at: number): boolean {
  return CONTAINERS.test(text.slice(text.lastIndexOf("\n", at - 1) + 1, at));
}

const CONTAINERS = /^(?:[ \t]|>|(?:[-*+]|\d{1,9}[.)])[ \t])*$/;

const MOST_MARKS = 300; // of a line that are looked at
const MARK = /`+|\$\$|<(?:!--|details)|\\[^]/gi;

/** The end of what begins between `from` and `end`, which are in one line, and goes over the line's end; -1 where nothing does. */
export function goesOver(text: string, from: number, end: number): number {
  const line = text.slice(from, end);
  MARK.lastIndex = 0;
  for (let found = MARK.exec(line), count = 0; found !== null && count < MOST_MARKS; found = MARK.exec(line), count += 1) {
    const mark = found[0];
    if (mark.startsWith("`")) {
      const close = line.slice(MARK.lastIndex).search(new RegExp(`(?<!\`)${mark}(?!\`)`));
      if (close >= 0) MARK.lastIndex += close + mark.length;
      continue;
    }
    const at = from + found.index;
    const opening = openingAt(text, at);
    if (opening === null) continue;
    const close = endOf(text, at, opening);
    if (close > end) return Math.min(close, text.length);
    if (close > 0) MARK.lastIndex = close - from;
  }
  return -1;
}
