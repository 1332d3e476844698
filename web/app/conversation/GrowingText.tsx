// A text to which more is added all the time. What is there stays as it is in the document, as another text node follows
// it: in a text node that is set anew a reader's selection is lost.

import { type ReactNode, useState } from "react";

const MOST = 300; // text nodes of a text
const LEAST = 1_000; // characters of those after them

export function GrowingText({ value }: { readonly value: string }): ReactNode {
  const [pieces, setPieces] = useState<readonly string[]>([value]);
  if (pieces.join("") === value) return pieces;
  const grown = added(pieces, value);
  setPieces(grown);
  return grown;
}

/** `value` in pieces: those of `pieces` that it begins with, and the rest. */
export function added(pieces: readonly string[], value: string): readonly string[] {
  const kept: string[] = [];
  let length = 0;
  for (const piece of pieces) {
    if (!value.startsWith(piece, length)) break;
    kept.push(piece);
    length += piece.length;
  }
  const last = kept.at(-1) ?? "";
  if (kept.length >= MOST && last.length < LEAST) return [...kept.slice(0, -1), last + value.slice(length)];
  return length === value.length ? kept : [...kept, value.slice(length)];
}
