/** The kinds of a tree that mdast has not: formulas, and the elements of HTML that are drawn. */

import type { Node, PhrasingContent, RootContent } from "mdast";

export interface MathBlock extends Node {
  type: "math";
  value: string;
}

export interface InlineMath extends Node {
  type: "inlineMath";
  value: string;
}

export interface Element extends Node {
  type: "element";
  tag: "sub" | "sup" | "kbd" | "u" | "summary";
  children: PhrasingContent[];
}

export interface Details extends Node {
  type: "details";
  children: RootContent[];
}

/** The rows of a long table or list that are not drawn at once, as JSON: a page takes 40,000 objects of a worker too slowly. */
export interface Packed {
  packed?: readonly string[];
  /** Rows in them. */
  left?: number;
}

export const ROWS = 150; // that are drawn at once

declare module "mdast" {
  interface Table extends Packed { type: "table" }
  interface List extends Packed { type: "list" }
  interface PhrasingContentMap {
    inlineMath: InlineMath;
    element: Element;
  }
  interface BlockContentMap {
    math: MathBlock;
    details: Details;
  }
  interface RootContentMap {
    math: MathBlock;
    inlineMath: InlineMath;
    element: Element;
    details: Details;
  }
}
