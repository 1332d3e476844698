// What a shared page brings along only where its chat has use for it: scripts of their own, before the reader's, which
// leave here what they make.

import type { AskedCode, AskedFormula } from "../app/conversation/markdown/queues";
import type { Figure, FigureChild } from "../app/conversation/markdown/figure";

export interface Parts {
  formula?: (source: string, isBlock: boolean) => Figure | null;
  highlighted?: (code: string, language: string) => FigureChild[] | null;
}

declare global {
  var readerParts: Parts | undefined;
}

export const parts: Parts = globalThis.readerParts ??= {};

export const formulaOf = ({ source, isBlock }: AskedFormula): Figure | null => parts.formula?.(source, isBlock) ?? null;
export const coloursOf = ({ code, language }: AskedCode): FigureChild[] | null => parts.highlighted?.(code, language) ?? null;
