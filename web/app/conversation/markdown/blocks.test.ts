import { describe, expect, it } from "vitest";
import { cut, Definitions, footnotes } from "./blocks";

const sources = (text: string) => cut(text).blocks.map(({ source }) => source);

describe("the blocks of a text", () => {
  it.each([
    ["paragraphs", "one\n\ntwo\n\n\nthree", ["one", "two", "three"]],
    ["a heading stands alone", "# a\ntext\n## b\n\nmore", ["# a", "text", "## b", "more"]],
    ["a fence with empty lines", "a\n```js\nx\n\ny\n```\nb", ["a", "```js\nx\n\ny\n```", "b"]],
    ["a fence that is not closed", "a\n\n~~~\nx\n\n# y\n", ["a", "~~~\nx\n\n# y"]],
    ["a longer fence around a shorter one", "````\n```\n\n```\n````\nb", ["````\n```\n\n```\n````", "b"]],
    ["a loose list", "- a\n\n  more\n\n- b\n\nafter", ["- a\n\n  more\n\n- b", "after"]],
    ["a fence inside a list", "1. a\n\n   ```\n   x\n\n   y\n   ```\n\n2. b\n\nc", ["1. a\n\n   ```\n   x\n\n   y\n   ```\n\n2. b", "c"]],
    ["a list that a heading ends", "- a\n# b", ["- a", "# b"]],
    ["math over several lines", "a\n$$\nx\n\ny\n$$\nb\n\nc", ["a\n$$\nx\n\ny\n$$\nb", "c"]],
    ["math that begins behind text", "a $$x\ny$$ b $$\nz\n$$\n\nc", ["a $$x\ny$$ b $$\nz\n$$", "c"]],
    ["math in brackets, with an empty line", "\\[\nx\n\ny\n\\]\n\nb", ["\\[\nx\n\ny\n\\]", "b"]],
    ["math that a heading ends", "$$\nx\n\n# b\n\nc", ["$$\nx", "# b", "c"]],
    ["two dollars in a code", "`$$`\n\nb", ["`$$`", "b"]],
    ["details with blocks in them", "<details>\n\n# a\n\n```\nx\n```\n</details>\n\nb", ["<details>\n\n# a\n\n```\nx\n```\n</details>", "b"]],
    ["a comment with an empty line", "<!-- a\n\nb -->\n\nc", ["<!-- a\n\nb -->", "c"]],
    ["Markdown with a fence of the same length", "```md\n```js\nx\n```\ny\n```\nz", ["```md\n```js\nx\n```\ny\n```", "z"]],
    ["a fence in a list that is closed at the margin", "1. a\n   ```\n   x\n```\n2. b\n\nc", ["1. a\n   ```\n   x\n```\n2. b", "c"]],
    ["a heading without a blank", "a\n###b\nc", ["a", "###b", "c"]],
    ["a rule between paragraphs", "a\n\n---\n\nb", ["a", "---", "b"]],
    ["a footnote of two paragraphs", "[^1]: a\n\n    b\n\nc", ["[^1]: a\n\n    b", "c"]],
    ["indented text", "    a\n\n    b\n\nc", ["    a", "    b", "c"]],
    ["a quote", "> a\n> b\n\nc", ["> a\n> b", "c"]],
    ["nothing", "\n\n", []],
  ])("%s", (_, text, expected) => {
    expect(sources(text)).toEqual(expected);
  });

  it("are the same however the text came", () => {
    const text = "# a\n\none\n\n- x\n\n1. y\n\n   ```js\n   z\n\n   z\n   ```\n2. w\n\n$$\nm\n\nn\n$$\nb\n\n```\ncode\n\n# no\n```\nend [^1]\n\n$$ m\n\n**n** \\[\nx\n\ny\\]\n\nz\n\n<details>\n\na\n\n```md\n```js\n```\n```\n</details>\n\n- b\n  ```\n  c\n```\n\nd\n\n[^1]: n";
    let cutting = cut("");
    for (let length = 1; length <= text.length; length += 1) {
      cutting = cut(text.slice(0, length), cutting);
      expect(cutting.blocks).toEqual(cut(text.slice(0, length)).blocks);
    }
  });

  it("of before are used again", () => {
    const before = cut("a\n\nb\n\nc\n\nd");
    const after = cut("a\n\nb\n\nc\n\nd e", before);
    expect(after.blocks[0]).toBe(before.blocks[0]);
    expect(after.blocks[1]).toBe(before.blocks[1]);
  });
});

describe("definitions", () => {
  it("go only with the blocks that use them", () => {
    const { blocks } = cut("see [A] and [^n]\n\nno\n\n[a]: https://example.org\n\n[^n]: note");
    const definitions = new Definitions(blocks);
    expect(blocks.map((block) => definitions.of(block))).toEqual(["[a]: https://example.org\n\n[^n]: \u{e000}", "", "", ""]);
  });

  it("of footnotes are counted as the text comes to them", () => {
    const { blocks } = cut("b[^b] a[^a] b[^b]\n\n[^a]: x\n\n[^b]: y");
    expect([...footnotes(blocks)]).toEqual([["b", 1], ["a", 2]]);
  });
});
