/**
 * What CommonMark does not know, or reads in another way than models mean it, is taken out of a block before it is parsed:
 * formulas, addresses, the few tags of HTML that are drawn. A sign stands in its place, and the tree gets it back (places.ts).
 * So the parser sees no dollar, and no formula ends or swallows anything around it.
 */

import { beginsLine, endOf, openingAt, type Opening } from "./spans";

export const TAGS = ["br", "sub", "sup", "kbd", "u", "details", "summary"] as const;
export type Tag = (typeof TAGS)[number];

export type Mark =
  | { kind: "formula"; raw: string; source: string; isBlock: boolean }
  | { kind: "address"; raw: string; url: string }
  | { kind: "tag"; raw: string; tag: Tag; isEnd: boolean }
  | { kind: "comment" | "letter"; raw: string };

export interface Lifted {
  text: string;
  marks: readonly Mark[];
}

const OPEN = "\u{e010}";
const CLOSE = "\u{e011}";
/** The sign in the place of a mark, with its number. */
export const PLACE = /\u{e010}(\d+)\u{e011}/gu;

const NEXT = /\n|[`\\$\u{e010}\u{e011}]|<(?=[!/a-z])|(?<![a-z])https?:\/\/|(?<![\w@./-])www\.(?=[a-z\d-])/giu;
const BLANK_LINE = /\n[ \t>]*(?=\n)/g;
const MAX_CODE = 20_000; // characters of a code within a line
const MAX_FORMULA = 2_000; // characters of a formula within a line

export function lift(source: string): Lifted {
  return new Lifting(source).lifted();
}

class Lifting {
  private readonly marks: Mark[] = [];
  private readonly places = new Map<string, string>();
  private out = "";
  private at = 0;
  private end = -1; // of the paragraph
  private underline = -1; // where the line of a heading above it begins

  constructor(private readonly source: string) {}

  lifted(): Lifted {
    const { source } = this;
    while (this.at < source.length) {
      if (this.at === 0 || source[this.at - 1] === "\n") this.beginLine();
      NEXT.lastIndex = this.at;
      const found = NEXT.exec(source);
      const next = found?.index ?? source.length;
      this.copy(next);
      if (found !== null) this.read(found[0]);
    }
    return { text: this.out, marks: this.marks };
  }

  // These return where they have come to.

  private copy(to: number): number {
    this.out += this.source.slice(this.at, to);
    this.at = to;
    return to;
  }

  private put(mark: Mark, to: number): number {
    const key = `${mark.kind}${mark.kind === "formula" && mark.isBlock ? "$" : ""}${mark.raw}`;
    let place = this.places.get(key);
    if (place === undefined) {
      place = `${OPEN}${this.marks.push(mark) - 1}${CLOSE}`;
      this.places.set(key, place);
    }
    this.out += place;
    this.at = to;
    return to;
  }

  private beginLine(): void {
    const { source } = this;
    const fence = fenceAt(source, this.at);
    if (fence !== null) {
      this.out += fence.text;
      this.at = fence.end;
      return;
    }
    if (this.at === this.underline) {
      this.at = endOfLine(source, this.at);
      return;
    }
    const [heading] = sticky(TIGHT_HEADING, source, this.at);
    if (heading !== undefined) {
      this.copy(this.at + heading.length);
      this.out += " ";
      return;
    }
    const [over, title] = sticky(UNDERLINED, source, this.at);
    if (over === undefined || title === undefined || !/(?:^|\n)[ \t]*\n?$/.test(source.slice(0, this.at))) return;
    this.out += "# ";
    this.underline = this.at + title.length + 1;
  }

  private read(found: string): number {
    const { source, at } = this;
    if (found === "\n") return this.copy(at + 1);
    if (found === OPEN || found === CLOSE) return this.put({ kind: "letter", raw: found }, at + found.length);
    if (found === "`") return this.readCode();
    if (found === "<") return this.readTag();
    if (/^[hw]/i.test(found)) return this.readAddress();
    const opening = openingAt(source, at);
    if (opening !== null) return this.readDisplay(opening);
    if (found === "$") return this.readDollar();
    return source[at + 1] === "(" ? this.readParentheses() : this.copy(source[at + 1] === "\n" ? at + 1 : at + 2);
  }

  private readCode(): number {
    const { source, at } = this;
    const ticks = sticky(/`+/y, source, at)[0] ?? "`";
    const from = at + ticks.length;
    const within = source.slice(from, Math.min(this.endOfParagraph(), from + MAX_CODE));
    const found = within.search(new RegExp(`(?<!\`)${ticks}(?!\`)`));
    return this.copy(found < 0 ? from : from + found + ticks.length);
  }

  private readDollar(): number {
    const { source, at } = this;
    const run = sticky(/\$+/y, source, at)[0] ?? "$";
    const end = run.length > 1 ? -1 : endOfDollars(source, at, this.endOfParagraph());
    if (end < 0) return this.copy(at + run.length);
    return this.put({ kind: "formula", raw: source.slice(at, end), source: source.slice(at + 1, end - 1), isBlock: false }, end);
  }

  private readParentheses(): number {
    const { source, at } = this;
    const within = source.slice(at + 2, Math.min(this.endOfParagraph(), at + MAX_FORMULA));
    const length = within.search(/(?<!\\)(?:\\\\)*\\\)/);
    const end = length < 0 ? -1 : source.indexOf("\\)", at + 2 + length) + 2;
    const said = source.slice(at + 2, end - 2);
    if (end < 0 || said.trim() === "" || NEW_BLOCK.test(said) || isWords(said)) return this.copy(at + 2);
    return this.put({ kind: "formula", raw: source.slice(at, end), source: withoutQuotes(said, this.containers()).trim(), isBlock: false }, end);
  }

  private readDisplay(opening: Opening): number {
    const { source, at } = this;
    if (opening.kind === "details") return this.copy(at + 1);
    const close = endOf(source, at, opening);
    const isFirst = beginsLine(source, at);
    if (opening.kind === "comment") return close > 0 && close < Infinity ? this.put({ kind: "comment", raw: source.slice(at, close) }, close) : this.copy(at + 4);
    const isOpen = close === Infinity || close < 0;
    if (isOpen && !(isFirst && this.isFormulaSoFar(opening))) return this.copy(at + opening.mark.length);
    const end = isOpen ? this.endOfParagraph() : close;
    const raw = source.slice(at, end);
    const inner = opening.kind === "environment" ? raw : raw.slice(2, isOpen ? undefined : -2);
    const isAlone = isFirst && /^[ \t]*[.,;:。，；：、]?[ \t]*$/.test(source.slice(end, endOfLine(source, end)));
    if (inner.trim() === "" || (opening.kind === "bracket" && !isAlone && isBracket(inner, source[at - 1] ?? "", source[end] ?? ""))) return this.copy(at + 2);
    const isBlock = isAlone || raw.includes("\n") || opening.kind === "environment" || inner.includes("\\tag");
    return this.put({ kind: "formula", raw, source: withoutQuotes(inner, this.containers()).trim(), isBlock }, end);
  }

  /** Of one that is not closed, as while it is written. */
  private isFormulaSoFar({ kind }: Opening): boolean {
    const { source, at } = this;
    const line = source.slice(at + 2, endOfLine(source, at));
    return kind === "environment" || line.trim() === "" || (kind === "dollars" && line.includes("\\"));
  }

  private readTag(): number {
    const { source, at } = this;
    const opening = openingAt(source, at);
    if (opening?.kind === "comment") return this.readDisplay(opening);
    const [raw, slash = "", name = ""] = sticky(TAG, source, at);
    if (raw === undefined) return this.copy(at + 1);
    const mark: Mark = { kind: "tag", raw, tag: name.toLowerCase() as Tag, isEnd: slash !== "" };
    if (mark.tag !== "details" && mark.tag !== "summary") return this.put(mark, at + raw.length);
    // Each on lines of its own, with empty ones around, in the list or quote in which it is.
    const containers = this.containers();
    const indent = containers.replace(/[^ \t>]/g, " ");
    const apart = `\n${indent.trimEnd()}\n${indent}`;
    const isFirst = beginsLine(source, at);
    if ((mark.tag === "details" || !mark.isEnd) && !(isFirst && /[^ \t>]/.test(containers))) this.out += apart;
    this.put(mark, at + raw.length);
    if (mark.tag !== "details" && !mark.isEnd) return this.at;
    this.out += apart;
    this.at += sticky(/[ \t]*/y, source, this.at)[0]?.length ?? 0;
    return this.at;
  }

  private readAddress(): number {
    const { source, at } = this;
    const raw = /[<\\]|\]\($/.test(source.slice(Math.max(0, at - 2), at).slice(source[at - 1] === "(" ? 0 : -1)) ? "" : addressAt(source, at);
    if (raw === "") return this.copy(at + 4);
    return this.put({ kind: "address", raw, url: /^w/i.test(raw) ? `http://${raw}` : raw }, at + raw.length);
  }

  /** The marks of lists and quotes that this line begins with. */
  private containers(): string {
    const { source, at } = this;
    return sticky(CONTAINERS, source, source.lastIndexOf("\n", at - 1) + 1)[0] ?? "";
  }

  private endOfParagraph(): number {
    if (this.at >= this.end) {
      BLANK_LINE.lastIndex = this.at;
      this.end = BLANK_LINE.exec(this.source)?.index ?? this.source.length;
    }
    return this.end;
  }
}

function sticky(pattern: RegExp, text: string, at: number): readonly (string | undefined)[] {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? [];
}

const endOfLine = (text: string, at: number) => {
  const found = text.indexOf("\n", at);
  return found < 0 ? text.length : found;
};

const CONTAINERS = /(?:[ \t]|>|(?:[-*+]|\d{1,9}[.)])[ \t])*/y;
const TIGHT_HEADING = / {0,3}#{2,6}(?=[^#\s])/y;
const UNDERLINED = /( {0,3}[^\s#>|*+-][^\n]*)\n {0,3}={3,}[ \t]*(?=\n|$)/y;
const TAG = new RegExp(`<(/?)(${TAGS.join("|")})(?:(?<=<details) open| ?/)?>`, "iy");

// A formula.

const CHINESE = /[\u3000-\u303f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]/;
const FULL_WIDTH = /[，。；：！？、（）]/;
const SIGNS = /[\\^_=+<>≤≥≈∑∫√×÷]/;
const TEXT = /\\(?:text|mbox|textbf|textit|textrm|mathrm)\s*\{[^{}]*\}/g;
/** A line within it that begins something else. */
const NEW_BLOCK = /\n[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]|#{1,6}[ \t]|`{3}|\|)/;

/**
 * Between single dollars is math where no space follows the first one or comes before the second, and no digit follows
 * that (the rule of Pandoc's tex_math_dollars). In Chinese, which has no spaces, it is a price that begins with a number
 * and goes over letters.
 */
function endOfDollars(source: string, start: number, limit: number): number {
  if (/\s|^$/.test(source.charAt(start + 1))) return -1;
  const within = source.slice(start + 1, Math.min(limit, start + MAX_FORMULA));
  const length = within.search(/(?<!\\)(?:\\\\)*\$/);
  if (length < 0) return -1;
  const end = within.indexOf("$", length);
  if (end < 1 || /[\s$]/.test(within.charAt(end - 1)) || /[\d$]/.test(within.charAt(end + 1))) return -1;
  const said = within.slice(0, end);
  const bare = said.replace(TEXT, "");
  if (NEW_BLOCK.test(said) || said.includes("`")) return -1;
  if (/^[\d.,]/.test(bare) && (CHINESE.test(bare) || bare.includes("|"))) return -1;
  if (FULL_WIDTH.test(bare) && !SIGNS.test(bare)) return -1;
  return start + 1 + end + 1;
}

/** Chinese in parentheses that were escaped. */
function isWords(said: string): boolean {
  return CHINESE.test(said) && !SIGNS.test(said);
}

/** Brackets that were escaped, as of `list\[0\]`, a link or a reference. */
function isBracket(said: string, before: string, after: string): boolean {
  if (said.includes("\n") || SIGNS.test(said)) return false;
  return CHINESE.test(said) || /^[\s\d.,:–-]*$/.test(said) || /[\p{L}\p{N}\]]/u.test(before) || after === "(";
}

/** The lines of a quote begin with its marks. */
function withoutQuotes(said: string, containers: string): string {
  return containers.includes(">") ? said.replace(/\n(?:[ \t]*>)+/g, "\n") : said;
}

// An address.

// It ends before marks of full width. A letter of Chinese belongs to it where it begins a part of a path or a name.
const ADDRESS = /(?:https?:\/\/|www\.)(?:[\u3400-\u9fff]+\.)?(?:(?!\*\*|\]\(|~~)[^\s<>"`|\\\u{e010}\u{e011}\u2018-\u201d\u2026\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]|(?<=[/=#&?%_-]|[/=#&?_-][\u3040-\u30ff\u3400-\u9fff]*)[\u3040-\u30ff\u3400-\u9fff]+)+/iuy;

function addressAt(source: string, at: number): string {
  let address = sticky(ADDRESS, source, at)[0] ?? "";
  for (let length = -1; length !== address.length;) {
    length = address.length;
    address = address.replace(/(?:[!'*,.:;?_~[{}$]|&[a-z\d]+;)+$/i, "");
    if (/[)\]]$/.test(address) && count(address, address.endsWith(")") ? "(" : "[") < count(address, address.at(-1) ?? "")) address = address.slice(0, -1);
  }
  return /^(?:https?:\/\/|www\.)[^\s/?#.:@-]/i.test(address) ? address : "";
}

const count = (text: string, letter: string) => text.split(letter).length - 1;

// A fence.

const FENCE = /((?:[ \t]|>|(?:[-*+]|\d{1,9}[.)])[ \t])*)(`{3,}(?=[^`\n]*(?:\n|$))|~{3,})([^\n]*)/y;
const MARKDOWN = /^\s*(?:markdown|md|mdx)\b/i;

export const isMarkdown = (info: string) => MARKDOWN.test(info);

/** How many fences are open after a line of a fenced code: in Markdown, models put fences of equal length into each other. */
export function depthAfter(line: string, mark: string, nests: boolean, depth: number): number {
  const bare = line.replace(/^[\s>]+/, "").trimEnd();
  const letter = mark[0] ?? "";
  if (!bare.startsWith(mark)) return depth;
  if (bare === letter.repeat(bare.length)) return depth - 1;
  return nests && /^(?:`+[\w+#.-]+|~+[\w+#.-]+)(?:\s[^`]*)?$/.test(bare) ? depth + 1 : depth;
}

/** A fenced code as CommonMark reads what was meant: closed in its own column, its marks longer than those inside. */
function fenceAt(source: string, at: number): { text: string; end: number } | null {
  const [head, prefix = "", mark = "", info = ""] = sticky(FENCE, source, at);
  if (head === undefined) return null;
  const isQuoted = prefix.includes(">");
  const indent = prefix.replace(/[^ \t>]/g, " ");
  const nests = isMarkdown(info);
  let depth = 1;
  let isNested = false;
  let body = "";
  let next = at + head.length;
  let close: string | null = null;
  while (next < source.length && close === null) {
    const end = endOfLine(source, next + 1);
    const line = source.slice(next + 1, end);
    if (isQuoted ? !/^[ \t]*>/.test(line) : prefix !== "" && /^\S/.test(line) && depthAfter(line, mark, nests, depth) >= depth) break;
    depth = depthAfter(line, mark, nests, depth);
    isNested ||= depth > 1;
    if (depth === 0) close = /^\S/.test(line) && !isQuoted ? `${indent}${line}` : line;
    else body += `\n${line}`;
    next = end;
  }
  const longer = isNested ? (mark[0] ?? "").repeat(2) : "";
  return { text: `${prefix}${longer}${mark}${info}${body}${close === null ? "" : `\n${close.trimEnd()}${longer}`}`, end: next };
}
