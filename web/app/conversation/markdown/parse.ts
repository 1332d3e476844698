/** One block of Markdown as a tree of plain objects: CommonMark, GitHub's tables, tasks, footnotes, and math. */

import type { ImageReference, LinkReference, Nodes, Root, RootContent } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { mathFromMarkdown } from "mdast-util-math";
import { gfm } from "micromark-extension-gfm";
import { math } from "micromark-extension-math";
import { cjkFriendlyExtension } from "micromark-extension-cjk-friendly";
import { gfmStrikethroughCjkFriendly } from "micromark-extension-cjk-friendly-gfm-strikethrough";

import { STUB } from "./blocks";

/** What is larger, deeper or of more parts is shown as it was written: drawing it would stop the page. */
export const MAX_LENGTH = 64_000; // characters of a block
const MAX_NODES = 2_000; // of a block, but for the rows of a table or list, which are drawn in parts: laying out 4,000 in a line takes 40 ms
const MAX_ROW_NODES = 40_000;
const MAX_COLUMNS = 200; // laying out 6,000 takes 150 ms
const MAX_DEPTH = 32;

const NESTED = /^(?:[ \t]*>){33}/m;

const options = {
  extensions: [gfm(), cjkFriendlyExtension(), gfmStrikethroughCjkFriendly(), math()],
  mdastExtensions: [gfmFromMarkdown(), mathFromMarkdown()],
};

/** The tree of a block, or null where it is to be shown as it was written. `context`: lines that it refers to. */
export function parse(source: string, context = ""): RootContent[] | null {
  if (source.length > MAX_LENGTH || NESTED.test(source)) return null;
  const text = withDollars(source);
  const root = fromMarkdown(context === "" ? text : `${text}\n\n${context}`, options);
  return simplified(root) ? root.children.filter((node) => node.type !== "definition" && !isStub(node)) : null;
}

/** What was only added so that references to it are found. */
function isStub(node: RootContent): boolean {
  if (node.type !== "footnoteDefinition") return false;
  const [paragraph] = node.children;
  return paragraph?.type === "paragraph" && paragraph.children[0]?.type === "text" && paragraph.children[0].value === STUB;
}

/** Takes the positions out, which nobody needs, makes links of references, and ends addresses; false where the tree is too large. */
function simplified(root: Root): boolean {
  const targets = new Map<string, string>();
  const references: (LinkReference | ImageReference)[] = [];
  const open: [Nodes, number][] = [[root, 0]];
  const [first] = root.children;
  const most = first?.type === "table" || first?.type === "list" ? MAX_ROW_NODES : MAX_NODES;
  let count = 0;
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    const [node, depth] = each;
    if ((count += 1) > most || depth > MAX_DEPTH) return false;
    if (node.type === "tableRow" && node.children.length > MAX_COLUMNS) return false;
    delete node.position;
    if (node.type === "definition" && !targets.has(node.identifier)) targets.set(node.identifier, node.url);
    if (node.type === "linkReference" || node.type === "imageReference") references.push(node);
    if (!("children" in node)) continue;
    if (node.children.some(endsLate)) (node as { children: Nodes[] }).children = node.children.flatMap(endedInTime);
    for (const child of node.children) open.push([child, depth + 1]);
  }
  for (const node of references) resolve(node, targets.get(node.identifier) ?? "");
  return true;
}

function resolve(node: LinkReference | ImageReference, url: string): void {
  Object.assign(node, node.type === "linkReference" ? { type: "link", url } : { type: "image", url });
}

// A bare address ends before punctuation of Chinese and before its letters; GitHub's rules know only ASCII.
const AFTER_ADDRESS = /[\u3000-\u303f\uff00-\uffef\u2018-\u201d\u2026\u3400-\u9fff]/;

const bareAddress = (node: Nodes): string | null => {
  if (node.type !== "link" || node.children.length !== 1 || node.children[0]?.type !== "text") return null;
  const said = node.children[0].value;
  return node.url === said || node.url === `http://${said}` || node.url === `mailto:${said}` ? said : null;
};

function endsLate(node: Nodes): boolean {
  const said = bareAddress(node);
  return said !== null && AFTER_ADDRESS.test(said);
}

function endedInTime<N extends Nodes>(node: N): (N | { type: "text"; value: string })[] {
  const said = bareAddress(node);
  const at = said?.search(AFTER_ADDRESS) ?? -1;
  if (said === null || node.type !== "link" || at < 0) return [node];
  const whole = said.slice(0, at).replace(/[.,:;!?]+$/, "");
  const rest = { type: "text" as const, value: said.slice(whole.length) };
  if (whole.length < 8) return [{ type: "text" as const, value: said }];
  const url = node.url.slice(0, node.url.length - (said.length - whole.length));
  return [{ ...node, url, children: [{ type: "text" as const, value: whole }] }, rest];
}

// Code in a quote or a list that is still being written has no end yet.
const CODE_OR_MATH = /(`+)(?!`)[^]*?[^`]\1(?!`)|(?<=^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(?:`{3,}[^]*|~{3,}(?:[^]*?\n[ \t>]*~{3,}|[^]*))|\\\(([^]+?)\\\)|\\\[([^]+?)\\\]|\\[^]|\$+/gm;
const MAX_FORMULA = 2_000; // characters between two single dollars

/**
 * Math as models write it: `\(…\)` and `\[…\]` too, and no prices. Between single dollars is math where no space follows
 * the first one or comes before the second, and no digit follows that (the rule of Pandoc's tex_math_dollars).
 */
export function withDollars(source: string): string {
  if (!/\$|\\[([]/.test(source) || /^(?: {0,3}(?:`{3,}|~{3,})| {4}|\t)/.test(source)) return source;
  let closing = -1; // where the dollar is that ends a formula which is open
  return source.replace(CODE_OR_MATH, (whole: string, _ticks, inline: string | undefined, display: string | undefined, at: number) => {
    if (at <= closing) return whole;
    if (inline !== undefined) return `$${inline.trim()}$`;
    if (display !== undefined) return display.includes("\n") ? `$$\n${display.trim()}\n$$` : `$$${display.trim()}$$`;
    if (whole !== "$") return whole;
    const end = endOfFormula(source, at);
    if (end < 0) return "\\$";
    closing = end;
    return whole;
  });
}

function endOfFormula(source: string, start: number): number {
  if (/\s|^$/.test(source.charAt(start + 1))) return -1;
  const within = source.slice(start + 1, start + MAX_FORMULA);
  const length = within.search(/(?<!\\)\$/);
  if (length < 1 || /\s|\$/.test(within.charAt(length - 1)) || /[\d$]/.test(within.charAt(length + 1))) return -1;
  return start + 1 + length;
}
