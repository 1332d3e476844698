/**
 * Cuts Markdown into its top-level blocks, line by line and without parsing it, so that of a growing text only the
 * last block is parsed again. A cut is never made where one block could go on: what is cut too rarely costs time,
 * what is cut too often changes what is shown.
 */

import { depthAfter, isMarkdown } from "./marks";
import { goesOver } from "./spans";

export interface Block {
  /** Where it begins in the text. */
  start: number;
  source: string;
  /** A fenced code block at the margin, which needs no parser. */
  fence: boolean;
}

export interface Cut {
  text: string;
  blocks: readonly Block[];
}

type Kind = "list" | "footnote" | "other";

interface Fence {
  mark: string;
  /** Inside a list or quote, which ends it, too. */
  inside: boolean;
  quoted: boolean;
  /** Of Markdown, in which other fences may be. */
  nests: boolean;
  depth: number;
}

const FENCE = /^( *)((?:(?:[-*+]|\d{1,9}[.)]|>)\s+|>)*)(`{3,}(?=[^`]*$)|~{3,})(.*)$/;
// Models leave the blank behind `##` out; behind one `#` it makes the heading, without it there is a tag of something.
const HEADING = /^ {0,3}(?:#{1,6}(?:[ \t]|$)|#{2,6}(?=[^#\s]))/;
const ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const FOOTNOTE = /^ {0,3}\[\^[^\]]+\]:/;

/** The blocks of `text`; those of `before`, which may be its beginning, are used again but for the last two. */
export function cut(text: string, before?: Cut): Cut {
  if (before === undefined || before.blocks.length < 3 || !text.startsWith(before.text)) return { text, blocks: scan(text, 0) };
  if (text.length === before.text.length) return before;
  // The last block may turn out to be a part of the one before it, which began with a whole line.
  const unchanged = before.blocks.slice(0, -2);
  return { text, blocks: [...unchanged, ...scan(text, before.blocks[unchanged.length]?.start ?? 0)] };
}

function scan(text: string, from: number): Block[] {
  const blocks: Block[] = [];
  let start = -1;
  let end = from;
  let kind = "other" as Kind;
  let fence = null as Fence | null;
  let isFence = false;
  let isAfterBlank = false;
  let spanEnd = -1; // of a formula or another thing that goes over lines
  const close = () => {
    if (start >= 0) blocks.push({ start, source: text.slice(start, end), fence: isFence });
    start = -1;
    isFence = false;
    fence = null;
  };
  const open = (at: number, line: string) => {
    start = at;
    kind = kindOf(line);
  };
  for (let at = from; at < text.length; ) {
    const found = text.indexOf("\n", at);
    const next = found === -1 ? text.length : found + 1;
    const lineEnd = found === -1 ? text.length : found;
    const line = text.slice(at, lineEnd);
    const isBlank = line.trim() === "";
    if (fence?.inside === true && !isBlank && endsFence(line, fence)) fence = null;
    if (fence !== null) {
      if (!isBlank) end = lineEnd;
      fence.depth = depthAfter(line, fence.mark, fence.nests, fence.depth);
      if (fence.depth === 0) {
        end = lineEnd;
        const isTop = !fence.inside;
        fence = null;
        if (isTop) close();
      } else if (isFence) end = lineEnd;
    } else if (spanEnd > at) {
      if (!isBlank) end = lineEnd;
      if (spanEnd <= lineEnd) spanEnd = goesOver(text, spanEnd, lineEnd);
      isAfterBlank = false;
    } else if (isBlank) {
      isAfterBlank = true;
    } else {
      if (start >= 0 && isAfterBlank && !goesOn(kind, line)) close();
      const opening = FENCE.exec(line);
      const isTop = opening !== null && opening[2] === "" && (start < 0 || kind === "other" || indentOf(line) <= 1);
      if (start >= 0 && (isTop || (HEADING.test(line) && (kind !== "list" || indentOf(line) <= 1)))) close();
      if (start < 0) open(at, line);
      end = lineEnd;
      if (opening !== null && (isTop || start < at || opening[2] !== "")) {
        const [, , containers = "", mark = "", info = ""] = opening;
        fence = { mark, inside: !isTop, quoted: containers.includes(">"), nests: isMarkdown(info), depth: 1 };
        isFence = isTop && opening[1] === "";
      } else if (HEADING.test(line) && start === at) close();
      else spanEnd = goesOver(text, at, lineEnd);
      isAfterBlank = false;
    }
    at = next;
  }
  close();
  return blocks;
}

/** A line at the margin ends the list or quote that a fence is in, unless it is the fence's own end, put there. */
function endsFence(line: string, { mark, nests, depth, quoted }: Fence): boolean {
  if (indentOf(line) > 0 || line.startsWith(">")) return false;
  return quoted || depthAfter(line, mark, nests, depth) >= depth;
}

function kindOf(line: string): Kind {
  if (FOOTNOTE.test(line)) return "footnote";
  if (RULE.test(line)) return "other";
  if (ITEM.test(line)) return "list";
  return "other";
}

/** Whether a line after an empty one belongs to the block before it. */
function goesOn(kind: Kind, line: string): boolean {
  if (kind === "list") return indentOf(line) >= 2 || (ITEM.test(line) && !RULE.test(line));
  if (kind === "footnote") return indentOf(line) >= 2;
  return false;
}

function indentOf(line: string): number {
  let width = 0;
  for (const letter of line) {
    if (letter === " ") width += 1;
    else if (letter === "\t") width += 4;
    else break;
  }
  return width;
}

const DEFINITION = /^ {0,3}\[((?:[^\]\\\n]|\\.)+)\]:[^\n]*/gm;
const LABEL = /\[((?:[^[\]\\\n]|\\.)+)\](:?)/g;
const MAX_DEFINITIONS = 200;
/** What stands for a footnote where only references to it are: no text of a model. */
export const STUB = "\u{e000}";

/** What the links and footnotes of a block refer to elsewhere in the text: lines that follow it when it is parsed. */
export class Definitions {
  private readonly lines = new Map<string, string>();

  constructor(blocks: readonly Block[]) {
    for (const block of blocks) {
      if (block.fence || !block.source.includes("]:")) continue;
      for (const [line, label = ""] of block.source.matchAll(DEFINITION)) {
        if (this.lines.size >= MAX_DEFINITIONS) return;
        const name = label.toLowerCase();
        if (!this.lines.has(name)) this.lines.set(name, name.startsWith("^") ? `[${label}]: ${STUB}` : line.trim());
      }
    }
  }

  of({ source, fence }: Block): string {
    if (fence || this.lines.size === 0 || !source.includes("[")) return "";
    const defined = new Set<string>();
    const used = new Set<string>();
    for (const [, label = "", colon] of source.matchAll(LABEL)) {
      const name = label.toLowerCase();
      if (this.lines.has(name)) (colon === ":" ? defined : used).add(name);
    }
    return [...used].flatMap((name) => defined.has(name) ? [] : this.lines.get(name) ?? []).join("\n\n");
  }
}

/** The smallest depth of a heading in it, 1 to 6; 1 where there is none. */
export function topHeading(blocks: readonly Block[]): number {
  let top = 7;
  for (const { source, fence } of blocks) {
    if (!fence && HEADING.test(source)) top = Math.min(top, source.trimStart().search(/[^#]|$/));
  }
  return top > 6 ? 1 : top;
}

const NOTE = /\[\^([^[\]\s]+)\](:?)/g;

/** The numbers of footnotes by their labels, in the order in which the text comes to them; of as many as are looked up. */
export function footnotes(blocks: readonly Block[]): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>();
  for (const { source, fence } of blocks) {
    if (fence || !source.includes("[^")) continue;
    for (const [, label = "", colon] of source.matchAll(NOTE)) {
      const name = label.toLowerCase();
      if (colon === "" && !numbers.has(name)) numbers.set(name, numbers.size + 1);
      if (numbers.size >= MAX_DEFINITIONS) return numbers;
    }
  }
  return numbers;
}
