/** One block of Markdown as a tree of plain objects: CommonMark, GitHub's tables, tasks, footnotes, and math. */

import type { ImageReference, LinkReference, Nodes, Root, RootContent } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import { cjkFriendlyExtension } from "micromark-extension-cjk-friendly";
import { gfmStrikethroughCjkFriendly } from "micromark-extension-cjk-friendly-gfm-strikethrough";

import { STUB } from "./blocks";
import { lift } from "./marks";
import { ROWS } from "./nodes";
import { putBack } from "./places";

/** What is deeper or wider is shown as it was written: drawing it would stop the page. */
const MAX_COLUMNS = 200; // laying out 6,000 takes 150 ms
const MAX_DEPTH = 32;

// Deeper than MAX_DEPTH in one line, which takes a parser long to find out. A line of one mark alone is a rule.
const NESTED = /^(?![ \t]*([-*])(?:[ \t]*\1)*[ \t]*$)(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))){33}/m;

// Models mean no code by four blanks, and a rule by `---` below a line. One tilde is a range: 9:00~12:00.
const AS_MEANT = { disable: { null: ["codeIndented", "setextUnderline"] } };
const STRUCK = { singleTilde: false };

const options = {
  extensions: [gfm(STRUCK), cjkFriendlyExtension(), gfmStrikethroughCjkFriendly(STRUCK), AS_MEANT],
  mdastExtensions: [gfmFromMarkdown()],
};

/** The tree of a block, or null where it is to be shown as it was written. `context`: lines that it refers to. */
export function parse(source: string, context = ""): RootContent[] | null {
  if (NESTED.test(source)) return null;
  const { text, marks } = lift(source);
  const root = fromMarkdown(context === "" ? text : `${text}\n\n${context}`, options);
  if (!simplified(root)) return null;
  putBack(root, marks);
  const nodes = root.children.filter((node) => node.type !== "definition" && !isStub(node));
  for (const node of nodes) pack(node);
  return nodes;
}

function pack(node: RootContent): void {
  if ((node.type !== "table" && node.type !== "list") || node.children.length <= ROWS + 1) return;
  const rest: unknown[] = node.children.splice(ROWS + 1);
  node.left = rest.length;
  node.packed = Array.from({ length: Math.ceil(rest.length / ROWS) }, (_, part) => JSON.stringify(rest.slice(part * ROWS, (part + 1) * ROWS)));
}

/** What was only added so that references to it are found. */
function isStub(node: RootContent): boolean {
  if (node.type !== "footnoteDefinition") return false;
  const [paragraph] = node.children;
  return paragraph?.type === "paragraph" && paragraph.children[0]?.type === "text" && paragraph.children[0].value === STUB;
}

/** Takes the positions out, which nobody needs, and makes links of references; false where the tree is too deep or wide. */
function simplified(root: Root): boolean {
  const targets = new Map<string, string>();
  const references: (LinkReference | ImageReference)[] = [];
  const open: [Nodes, number][] = [[root, 0]];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    const [node, depth] = each;
    if (depth > MAX_DEPTH) return false;
    if (node.type === "tableRow" && node.children.length > MAX_COLUMNS) return false;
    delete node.position;
    if (node.type === "definition" && !targets.has(node.identifier)) targets.set(node.identifier, node.url);
    if (node.type === "linkReference" || node.type === "imageReference") references.push(node);
    if ("children" in node) for (const child of node.children) open.push([child, depth + 1]);
  }
  for (const node of references) resolve(node, targets.get(node.identifier) ?? "");
  return true;
}

function resolve(node: LinkReference | ImageReference, url: string): void {
  Object.assign(node, node.type === "linkReference" ? { type: "link", url } : { type: "image", url });
}
