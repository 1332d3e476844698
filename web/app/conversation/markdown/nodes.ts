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

declare module "mdast" {
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
