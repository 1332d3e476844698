/** Puts what was taken out of a block (marks.ts) into the tree that was made of the rest. */

import type { Nodes, Paragraph, PhrasingContent, RootContent } from "mdast";

import { type Mark, PLACE, type Tag } from "./marks";
import type { Details, Element, MathBlock } from "./nodes";

interface TagSign {
  type: "tag";
  tag: Tag;
  isEnd: boolean;
  raw: string;
}

type Piece = PhrasingContent | MathBlock | TagSign;

/** Changes the tree: every sign becomes what it stands for, or the text that it was. */
export function putBack(node: Nodes, marks: readonly Mark[]): void {
  const raw = (text: string) => text.replace(PLACE, (sign, number: string) => marks[Number(number)]?.raw ?? sign);
  const visit = (each: Nodes, isInLink: boolean): void => {
    for (const field of FIELDS) {
      const value = (each as unknown as Record<string, unknown>)[field];
      if (typeof value === "string") (each as unknown as Record<string, unknown>)[field] = raw(value);
    }
    if (!("children" in each)) return;
    const within = isInLink || each.type === "link" || each.type === "linkReference";
    for (const child of each.children) if (child.type !== "text") visit(child, within);
    const children: readonly Nodes[] = each.children;
    let put = children;
    if (FLOW.has(each.type)) put = folded(children as readonly RootContent[]);
    else if (each.type === "paragraph") put = pieces(children, within) as Nodes[]; // which its parent settles: it may end there
    else if (PHRASING.has(each.type)) put = settled(paired(pieces(children, within)).map(inline));
    (each as { children: Nodes[] }).children = [...put];
  };
  const pieces = (children: readonly Nodes[], isInLink: boolean): Piece[] => children.flatMap((child) => {
    if (child.type !== "text") return [child as PhrasingContent];
    return child.value.split(PLACE).flatMap((part, place): Piece[] => place % 2 === 0 ? text(part) : piece(marks[Number(part)], isInLink));
  });
  visit(node, false);
}

const FIELDS = ["url", "title", "alt", "label", "identifier", "value", "lang", "meta"];
const FLOW = new Set<string>(["root", "blockquote", "listItem", "footnoteDefinition"]);
const PHRASING = new Set<string>(["heading", "tableCell", "emphasis", "strong", "delete", "link", "linkReference"]);

const text = (value: string): PhrasingContent[] => value === "" ? [] : [{ type: "text", value }];

function piece(mark: Mark | undefined, isInLink: boolean): Piece[] {
  switch (mark?.kind) {
    case undefined: case "comment": return [];
    case "letter": return text(mark.raw);
    case "address": return isInLink ? text(mark.raw) : [{ type: "link", url: mark.url, children: [{ type: "text", value: mark.raw }] }];
    case "formula": return [{ type: mark.isBlock ? "math" : "inlineMath", value: mark.source }];
    case "tag": return mark.tag === "br" ? (mark.isEnd ? text(mark.raw) : [{ type: "break" }]) : [{ type: "tag", tag: mark.tag, isEnd: mark.isEnd, raw: mark.raw }];
  }
}

/** Where a block cannot stand. */
function inline(piece: Piece): Piece {
  return piece.type === "math" ? { type: "inlineMath", value: piece.value } : piece;
}

/** Tags and what is between them as one element; those without another stay. */
function paired(pieces: readonly Piece[]): Piece[] {
  const out: Piece[] = [];
  const open = new Set<string>(); // tags that may be there, so that nobody looks for others
  for (const each of pieces) {
    if (each.type === "tag" && !each.isEnd) open.add(each.tag);
    const opened = each.type === "tag" && each.isEnd && each.tag !== "details" && open.has(each.tag)
      ? out.findLastIndex((before) => before.type === "tag" && !before.isEnd && before.tag === each.tag) : -1;
    if (opened < 0 || each.type !== "tag") out.push(each);
    else out.push({ type: "element", tag: each.tag as Element["tag"], children: settled(out.splice(opened).slice(1).map(inline)) });
  }
  return out;
}

/** With tags that stand alone as they were written, and texts in a row as one. */
function settled(pieces: readonly Piece[]): PhrasingContent[] {
  const out: PhrasingContent[] = [];
  for (const each of pieces) {
    const node = each.type === "tag" ? { type: "text" as const, value: each.raw } : each as PhrasingContent;
    const last = out.at(-1);
    if (node.type === "text" && last?.type === "text") out[out.length - 1] = { type: "text", value: last.value + node.value };
    else out.push(node);
  }
  return out;
}

/** Paragraphs end at a formula of its own lines, and what is between the tags of `<details>` is in it. */
function folded(nodes: readonly RootContent[]): RootContent[] {
  const levels: RootContent[][] = [[]];
  const close = () => {
    const children = levels.pop() ?? [];
    levels.at(-1)?.push({ type: "details", children } satisfies Details);
  };
  for (const node of nodes) {
    if (node.type !== "paragraph") {
      levels.at(-1)?.push(node);
      continue;
    }
    const pieces = (node.children as Piece[]).filter((each) => each.type !== "text" || each.value.trim() !== "" || node.children.length > 1);
    const said = pieces.filter((each) => each.type !== "text" || each.value.trim() !== "");
    const [only] = said;
    if (said.length === 1 && only?.type === "tag" && only.tag === "details") {
      if (!only.isEnd) levels.push([]);
      else if (levels.length > 1) close();
      else levels.at(-1)?.push(paragraph([{ type: "text", value: only.raw }]));
    } else levels.at(-1)?.push(...split(paired(pieces)));
  }
  while (levels.length > 1) close(); // it is still being written
  return levels[0] ?? [];
}

const paragraph = (children: PhrasingContent[]): Paragraph => ({ type: "paragraph", children });

function split(pieces: readonly Piece[]): RootContent[] {
  const out: RootContent[] = [];
  let open: Piece[] = [];
  const close = () => {
    const children = trimmed(settled(open), out.length > 0);
    if (children.length > 0) out.push(paragraph(children));
    open = [];
  };
  for (const each of pieces) {
    if (each.type === "math") {
      close();
      out.push(each);
    } else open.push(each);
  }
  close();
  return out;
}

/** Without the ends of lines that a formula had of its own. */
function trimmed(children: readonly PhrasingContent[], isAfter: boolean): PhrasingContent[] {
  return children.flatMap((node, place) => {
    if (node.type === "break" && (place === children.length - 1 || (place === 0 && isAfter))) return [];
    if (node.type !== "text") return [node];
    let { value } = node;
    if (place === 0) value = value.trimStart();
    if (place === children.length - 1) value = value.trimEnd();
    return text(value);
  });
}
