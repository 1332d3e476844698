/** The colours of a code, as spans whose classes name what a part of it is. */

import { common, createLowlight } from "lowlight";
import type { FigureChild } from "./figure";

const lowlight = createLowlight(common);

/** null where the language is not known. */
export function highlighted(code: string, language: string): FigureChild[] | null {
  return lowlight.registered(language) ? lowlight.highlight(language, code, { prefix: "hl-" }).children.flatMap(part) : null;
}

type Content = ReturnType<typeof lowlight.highlight>["children"][number];

function part(node: Content): FigureChild[] {
  if (node.type === "text") return [node.value];
  if (node.type !== "element") return [];
  const names = node.properties.className;
  return [{ tag: "span", className: Array.isArray(names) ? names.join(" ") : "", children: node.children.flatMap(part) }];
}
