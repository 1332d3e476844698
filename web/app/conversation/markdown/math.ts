/** TeX as MathML, which browsers set with fonts of their own. */

import katex from "katex";
import type { Figure, FigureChild } from "./figure";

// The elements and attributes of MathML Core that KaTeX writes; of no use to an attack, as they lead nowhere and run nothing.
const TAGS = new Set("math menclose merror mfrac mi mlabeledtr mmultiscripts mn mo mover mpadded mphantom mroot mrow ms mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none".split(" "));
const ATTRIBUTES = new Set("accent accentunder columnalign columnlines columnspacing depth display displaystyle fence form height largeop linethickness lspace mathcolor mathbackground mathsize mathvariant maxsize minsize movablelimits notation rowlines rowspacing rspace scriptlevel separator stretchy symmetric voffset width".split(" "));

const MAX_DEPTH = 100;

interface Written {
  type?: string;
  text?: string;
  character?: string;
  attributes?: Record<string, string>;
  children?: Written[];
}

// KaTeX's own way to its result before it is written; `renderToString` gives markup.
interface Trees {
  __renderToDomTree: (source: string, settings: object) => Written;
}

/** null where it is no formula. */
export function formula(source: string, isBlock: boolean): Figure | null {
  const settings = { output: "mathml", displayMode: isBlock, throwOnError: true, strict: "ignore", trust: false, maxExpand: 500, maxSize: 20 } as const;
  const drawn = (katex as unknown as Trees).__renderToDomTree(source, settings);
  const math = find(drawn);
  return math === null ? null : (figureOf(math, 0)[0] as Figure);
}

function find(node: Written): Written | null {
  if (node.type === "math") return node;
  for (const child of node.children ?? []) {
    const found = find(child);
    if (found !== null) return found;
  }
  return null;
}

function figureOf(node: Written, depth: number): FigureChild[] {
  if (depth > MAX_DEPTH) throw new RangeError("The formula is too deep.");
  if (node.text !== undefined) return [node.text];
  if (node.type === undefined && node.children === undefined) return [node.character ?? " "]; // a space of some width
  const children = node.type === "semantics" ? (node.children ?? []).slice(0, 1) : (node.children ?? []);
  const drawn = children.flatMap((child) => figureOf(child, depth + 1));
  if (node.type === undefined || !TAGS.has(node.type)) return drawn;
  const attributes = Object.fromEntries(Object.entries(node.attributes ?? {}).filter(([name]) => ATTRIBUTES.has(name)));
  return [{ tag: node.type, attributes, children: drawn }];
}
