// A text as it stands. A long one is in parts, of which a browser lays out those that are seen: all of 200 kB hold it up for 100 ms.
// How tall a part is that was never seen is only estimated.

import type { ReactNode } from "react";

import { GrowingText } from "./GrowingText";

const WHOLE = 20_000; // characters that are laid out at once: as usual texts are, a reload does not change how tall they are
const PART = 2_000; // characters, and what is left of a line
const COLUMNS = 90; // of a line on the screen, about

interface Props {
  readonly text: string;
  /** Long lines go on in the next one; else a part ends with a line alone. */
  readonly wraps?: boolean;
  /** More of it comes all the time: what is there already is not laid out again. */
  readonly grows?: boolean;
}

export function LongText({ text, wraps = false, grows = false }: Props): ReactNode {
  if (!grows && text.length <= WHOLE) return text;
  const parts = partsOf(text, wraps);
  if (parts.length < 2) return grows ? <GrowingText value={text} /> : text;
  return parts.map((part, place) => (
    <span key={place} className="text-part" style={{ containIntrinsicBlockSize: `auto ${linesOf(part, wraps)}lh` }}>{grows && place === parts.length - 1 ? <GrowingText value={part} /> : part}</span>
  ));
}

/** Without the character at which a part ends: the next one begins another line. */
export function partsOf(text: string, wraps: boolean): string[] {
  const parts: string[] = [];
  for (let from = 0; from < text.length;) {
    const end = endOf(text, from + PART, wraps);
    parts.push(text.slice(from, end));
    from = /\s/.test(text.charAt(end)) ? end + 1 : end;
  }
  return parts;
}

function endOf(text: string, least: number, wraps: boolean): number {
  if (least >= text.length) return text.length;
  const most = Math.min(text.length, wraps ? least + PART : Infinity);
  for (const mark of wraps ? ["\n", " "] : ["\n"]) {
    const at = text.indexOf(mark, least);
    if (at >= 0 && at <= most) return at;
  }
  return /[\ud800-\udbff]/.test(text.charAt(most - 1)) ? most + 1 : most; // a letter of two units stays whole
}

function linesOf(text: string, wraps: boolean): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines += 1;
  return wraps ? lines + Math.floor(text.length / COLUMNS) : lines;
}
