/** Whatever a model writes: it is read to its end, none of its letters is left out, and no element is made that is not allowed. */

import { render, waitFor } from "@testing-library/react";
import fc from "fast-check";
import type { Nodes } from "mdast";
import { expect, it } from "vitest";

import { cut, Definitions } from "./blocks";
import { Markdown } from "./Markdown";
import { parse } from "./parse";

const SEED = Number(process.env.FAST_CHECK_SEED ?? 1);

// Marks of all kinds, and between them words, each with a letter that is nowhere else. No definition begins here: these are not shown.
const MARKS = [
  "$", "$", "$$", "$$", "\\[", "\\]", "\\(", "\\)", "\\$", "\\", "*", "**", "**", "_", "~", "~~", "`", "``", "```\n", "```md\n", "\n```\n", "~~~\n", "\n", "\n", "\n\n", "\n\n",
  " ", "\n> ", "> ", "- ", "\n- ", "\n1. ", "\n   ", "\n    ", "\t", "# ", "\n###", "|", "\n|-|-|\n", "\n---\n", "\n===\n", "<details>", "</details>", "<summary>", "</summary>",
  "<br>", "<sub>", "</sub>", "<u>", "</u>", "<b>", "<script>", "<!--", "<think>", "https://a.example/", "www.a.example", "x@a.example", "，", "。", "：", "（", "~1~", "$5",
  "\\begin{align}", "\\end{align}", "\\text{", "}", "[", "](", "!", ")", "&amp;", "\u{e010}", "\u{e011}0", "\u{e010}0\u{e011}", "\r\n", "\0", "🙂",
] as const;

const texts = fc.array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...MARKS) }, { weight: 2, arbitrary: fc.constant(null) }), { maxLength: 60 }).map((parts) => {
  let count = 0;
  return parts.map((part) => part ?? String.fromCodePoint(0x4e00 + (count += 1)) + (count % 3 === 0 ? "a" : "")).join("");
});

const words = (text: string): string[] => text.match(/[\u4e00-\u4eff]/g) ?? [];

/** All that is drawn of a tree, or stands in an address. */
function said(node: Nodes): string {
  const own = ["value", "url", "title", "alt", "lang", "meta"].map((field) => (node as unknown as Record<string, unknown>)[field]).join(" ");
  return own + ("children" in node ? node.children.map(said).join(" ") : "");
}

function drawn(text: string): string {
  const { blocks } = cut(text);
  const definitions = new Definitions(blocks);
  return blocks.map((block) => block.fence ? block.source : (parse(block.source, definitions.of(block))?.map(said).join(" ") ?? block.source)).join(" ");
}

it("no letter is left out", { timeout: 300_000 }, () => {
  fc.assert(fc.property(texts, (text) => {
    const shown = decodeURI(drawn(text)).replaceAll(/mailto:|http:\/\//g, "");
    expect(words(text).filter((word) => !shown.includes(word))).toEqual([]);
  }), { seed: SEED, numRuns: 2_000 });
});

it("the blocks of a text that grows are those that it has at its end", { timeout: 300_000 }, () => {
  fc.assert(fc.property(texts, (text) => {
    let cutting = cut("");
    for (let length = 1; length <= text.length; length += 1) cutting = cut(text.slice(0, length), cutting);
    expect(cutting.blocks).toEqual(cut(text).blocks);
  }), { seed: SEED, numRuns: 500 });
});

const ALLOWED = new Set("p h3 h4 h5 h6 hr blockquote div pre code span table thead tbody tr th td ul ol li input button a sup sub kbd u b em strong del br details summary svg path rect".split(" "));
const MATH = "http://www.w3.org/1998/Math/MathML";

it("no element is made that is not allowed, and each letter is on the page", { timeout: 300_000 }, async () => {
  await fc.assert(fc.asyncProperty(texts, async (text) => {
    const { container, unmount } = render(<Markdown text={text} />);
    await waitFor(() => expect(container.querySelector("[aria-busy]")).toBeNull());
    const made = [...container.querySelectorAll("*")].filter((each) => each.namespaceURI !== MATH && each.closest("math") === null).map(({ localName }) => localName);
    expect(made.filter((name) => !ALLOWED.has(name))).toEqual([]);
    const shown = [...container.querySelectorAll("*")].map((each) => [...each.attributes].map(({ value }) => value).join(" ")).join(" ") + container.textContent;
    expect(words(text).filter((word) => !decodeURI(shown).includes(word))).toEqual([]);
    unmount();
  }), { seed: SEED, numRuns: 60 });
});
