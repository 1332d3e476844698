// The words of a node, without what they look like.

import type { Nodes } from "mdast";

export function textOf(node: Nodes): string {
  if ("children" in node) return node.children.map(textOf).join("");
  return "value" in node ? node.value : "";
}
