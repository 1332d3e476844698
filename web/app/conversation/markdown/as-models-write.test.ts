/** Markdown as models write it, in English, simplified and traditional Chinese. */

import type { Nodes } from "mdast";
import { describe, expect, it } from "vitest";

import { cut, Definitions } from "./blocks";
import { parse } from "./parse";

/** The tree of a text in short: `p` a paragraph, `$…$` a formula in a line, `$$…$$` one of its own. */
function drawn(text: string): string {
  const { blocks } = cut(text);
  const definitions = new Definitions(blocks);
  return blocks.map((block) => block.fence ? `fence[${block.source}]` : (parse(block.source, definitions.of(block)) ?? []).map(short).join(" ")).join(" ");
}

function short(node: Nodes): string {
  switch (node.type) {
    case "text": return node.value;
    case "inlineMath": return `$${node.value}$`;
    case "math": return `$$${node.value}$$`;
    case "code": case "inlineCode": case "html": return `${node.type}[${node.value}]`;
    case "link": return `a(${node.url})[${node.children.map(short).join("")}]`;
    case "element": return `${node.tag}[${node.children.map(short).join("")}]`;
    default: return `${SHORT[node.type] ?? node.type}${"children" in node ? `[${node.children.map(short).join(BLOCKS.has(node.type) ? " " : "")}]` : ""}`;
  }
}

const SHORT: Record<string, string> = {
  paragraph: "p", strong: "b", emphasis: "i", delete: "del", break: "br", heading: "h", listItem: "li", tableRow: "tr", tableCell: "td", blockquote: "quote", thematicBreak: "hr",
};
const BLOCKS = new Set(["list", "listItem", "blockquote", "table", "tableRow", "details"]);

const each = (rows: readonly (readonly [string, string])[]) => it.each(rows)("%j", (text, expected) => {
  expect(drawn(text)).toBe(expected);
});

describe("a display formula", () => {
  each([
    // on the line of its marks
    ["$$\\begin{aligned}\na &= b \\\\\nc &= d\n\\end{aligned}$$\n\nThen **text**.", "$$\\begin{aligned}\na &= b \\\\\nc &= d\n\\end{aligned}$$ p[Then b[text].]"],
    ["$$\\begin{aligned}\na &= b \\\\\nc &= d\n\\end{aligned}$$\n\n之后的**文字**。", "$$\\begin{aligned}\na &= b \\\\\nc &= d\n\\end{aligned}$$ p[之后的b[文字]。]"],
    ["$$ x = 1\n+ 2 $$\n之後**文字**", "$$x = 1\n+ 2$$ p[之後b[文字]]"],
    // followed or preceded by text
    ["$$\nx = 1\n$$。\n\n之后 **粗**", "$$x = 1$$ p[。] p[之后 b[粗]]"],
    ["公式 $$\nx = 1\n$$ 结束 **粗**", "p[公式] $$x = 1$$ p[结束 b[粗]]"],
    ["Let \\[\nx=1\n\\] so y.", "p[Let] $$x=1$$ p[so y.]"],
    ["設 \\[\nx=1\n\\] 則 y。", "p[設] $$x=1$$ p[則 y。]"],
    // in lists and quotes
    ["- 项目 $$\nx=1\n$$\n- 二", "list[li[p[项目] $$x=1$$] li[p[二]]]"],
    ["1. 代入公式：\n   \\[\n   x = \\frac{1}{2}\n   \\]\n2. 得到 **结果**\n3. 完", "list[li[p[代入公式：] $$x = \\frac{1}{2}$$] li[p[得到 b[结果]]] li[p[完]]]"],
    ["1. Insert:\n   $$\n   x = 1\n   $$\n2. **Done**", "list[li[p[Insert:] $$x = 1$$] li[p[b[Done]]]]"],
    ["> 式：\n> \\[\n> x = 1\n> \\]\n> **完**", "quote[p[式：] $$x = 1$$ p[b[完]]]"],
    ["1. a\n   \\[\n   x\n\n   = y\n   \\]\n2. b", "list[li[p[a] $$x\n\n   = y$$] li[p[b]]]"],
    ["    $$\n    x\n    $$\nb", "$$x$$ p[b]"],
    // alone in its paragraph, without lines for its marks
    ["\\[ \\sum_{i=1}^{n} i = \\frac{n(n+1)}{2} \\]", "$$\\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}$$"],
    ["$$x = 1 \\tag{1}$$", "$$x = 1 \\tag{1}$$"],
    ["其中 $$x=1$$ 是", "p[其中 $x=1$ 是]"],
    // with an empty line, with lines like those of lists, without dollars at all
    ["\\[\nx\n\n= y\n\\]\n\n**b**", "$$x\n\n= y$$ p[b[b]]"],
    ["$$\na\n- b\n+ c\n= d\n$$", "$$a\n- b\n+ c\n= d$$"],
    ["\\begin{align}\na &= b \\\\\nc &= d\n\\end{align}\n后", "$$\\begin{align}\na &= b \\\\\nc &= d\n\\end{align}$$ p[后]"],
    ["\\begin{equation}\nE = mc^2\n\\end{equation}", "$$\\begin{equation}\nE = mc^2\n\\end{equation}$$"],
    // that is still written, or never ended
    ["a\n\n$$\n\\frac{1}{2", "p[a] $$\\frac{1}{2$$"],
    ["$$\nx = 1\n\nThen **text**.\n\n## Next", "$$x = 1$$ p[Then b[text].] h[Next]"],
    ["1$$$$2", "p[1$$$$2]"],
    ["| a |\n|-|\n| $$x$$ |", "table[tr[td[a]] tr[td[$x$]]]"],
  ]);
});

describe("a formula in a line", () => {
  each([
    ["$x^2$ and \\(y\\) and \\[z\\]", "p[$x^2$ and $y$ and $z$]"],
    ["from $5 to $x$", "p[from $5 to $x$]"],
    ["$5 and $10, **$1.50** … $1.50, US$5-$10", "p[$5 and $10, b[$1.50] … $1.50, US$5-$10]"],
    ["$PATH and $USER, `$x $` \\$5", "p[$PATH and $USER, inlineCode[$x $] $5]"],
    ["价格是$5，数量是$x$个。", "p[价格是$5，数量是$x$个。]"],
    ["苹果$3/斤，比$梨$便宜", "p[苹果$3/斤，比$梨$便宜]"],
    ["成本為$100（約700元），利潤$\\approx 20\\%$。", "p[成本為$100（約700元），利潤$\\approx 20\\%$。]"],
    ["$5至$10之间，$a$为变量", "p[$5至$10之间，$a$为变量]"],
    ["$\\text{价格是 \\$5}$", "p[$\\text{价格是 \\$5}$]"],
    ["数组\\[0\\]，见\\[1\\]\\[2\\]。", "p[数组[0]，见[1][2]。]"],
    ["see [1]\\[2\\] and list\\[i\\]", "p[see [1][2] and list[i]]"],
    ["| a |\n|-|\n| $|x|$ |", "table[tr[td[a]] tr[td[$|x|$]]]"],
    ["> ```sh\n> T=$(ls) $x$\n> ```", "quote[code[T=$(ls) $x$]]"],
    ["- ~~~\n  $ ls $x$\n  ~~~\n  $5", "list[li[code[$ ls $x$] p[$5]]]"],
  ]);
});

describe("a tilde", () => {
  each([
    ["价格1~2元，时间3~4天", "p[价格1~2元，时间3~4天]"],
    ["營業 9:00~12:00，13:00~18:00", "p[營業 9:00~12:00，13:00~18:00]"],
    ["H~2~O and 10~20, 30~40", "p[H~2~O and 10~20, 30~40]"],
    ["~~旧的。~~新的 ~~old~~", "p[del[旧的。]新的 del[old]]"],
  ]);
});

describe("an address", () => {
  each([
    ["官网是**https://example.com**，请看。", "p[官网是b[a(https://example.com)[https://example.com]]，请看。]"],
    ["官網是 https://example.com，**重點**是`code`和[連結](https://a.example/b)。", "p[官網是 a(https://example.com)[https://example.com]，b[重點]是inlineCode[code]和a(https://a.example/b)[連結]。]"],
    ["https://example.com/a、https://example.com/b", "p[a(https://example.com/a)[https://example.com/a]、a(https://example.com/b)[https://example.com/b]]"],
    ["https://zh.wikipedia.org/wiki/中国", "p[a(https://zh.wikipedia.org/wiki/中国)[https://zh.wikipedia.org/wiki/中国]]"],
    ["见https://example.com/a查看**详情**", "p[见a(https://example.com/a)[https://example.com/a]查看b[详情]]"],
    ["See https://a.example/b_(c)). <https://a.example/d> [https://a.example](https://a.example/e)", "p[See a(https://a.example/b_(c))[https://a.example/b_(c)]). a(https://a.example/d)[https://a.example/d] a(https://a.example/e)[https://a.example]]"],
    ["[a]: https://a.example/b\n\n[a] [c](https://a.example/(d))", " p[a(https://a.example/b)[a] a(https://a.example/(d))[c]]"],
    ["`https://a.example`，x@example.com。", "p[inlineCode[https://a.example]，a(mailto:x@example.com)[x@example.com]。]"],
  ]);
});

describe("tags", () => {
  each([
    ["| a |\n|-|\n| x<br>y<br/>z<br />w |", "table[tr[td[a]] tr[td[xbrybrzbrw]]]"],
    ["H<sub>2</sub>O x<sup>2</sup> <kbd>Ctrl</kbd> <u>a **b**</u>", "p[Hsub[2]O xsup[2] kbd[Ctrl] u[a b[b]]]"],
    ["a <!-- not seen --> b", "p[a  b]"],
    ["<sub class=x>a</sub> <u>b <b>c</b> `<br>`", "p[html[<sub class=x>]a</sub> <u>b html[<b>]chtml[</b>] inlineCode[<br>]]"],
    ["<details><summary>更多 **x**</summary>\n\n內容\n\n```js\nx\n\ny\n```\n\n# h\n</details>\n\n後", "details[p[summary[更多 b[x]]] p[內容] code[x\n\ny] h[h]] p[後]"],
    ["- a\n  <details>\n  <summary>s</summary>\n  text\n  </details>\n- b", "list[li[p[a] details[p[summary[s]] p[text]]] li[p[b]]]"],
    ["<details>\n<summary>s</summary>\nstill **written", "details[p[summary[s]] p[still **written]]"],
    ["<script>\nlet **a**", "html[<script>\nlet **a**]"],
  ]);
});

describe("lines", () => {
  each([
    ["    four **blanks**\n\n\ta tab", "p[four b[blanks]] p[a tab]"],
    ["注意事项如下\n---\n正文", "p[注意事项如下] hr p[正文]"],
    ["注意事項\n===\n正文", "h[注意事項] p[正文]"],
    ["###标题\n正文 #标签", "h[标题] p[正文 #标签]"],
    ["Text\n##Heading", "p[Text] h[Heading]"],
    ["#hashtag\n#include <x>", "p[#hashtag\n#include html[<x>]]"],
  ]);
});

describe("a fence", () => {
  each([
    ["```markdown\n# T\n```bash\nls\n```\nend\n```\n以上就是文档。**请查看**。", "fence[```markdown\n# T\n```bash\nls\n```\nend\n```] p[以上就是文档。b[请查看]。]"],
    ["1. a\n   ```md\n   ```bash\n   ls\n   ```\n   end\n   ```\n2. **b**", "list[li[p[a] code[```bash\nls\n```\nend]] li[p[b[b]]]]"],
    ["1. 步骤：\n   ```bash\n   ls\n```\n2. 下一步 **粗**\n\n正文", "list[li[p[步骤：] code[ls]] li[p[下一步 b[粗]]]] p[正文]"],
    ["```bash\nls\n```\n\n```python\nx\n```", "fence[```bash\nls\n```] fence[```python\nx\n```]"],
    ["- ```c++\n  a\n  ```\n\nb", "list[li[code[a]]] p[b]"],
  ]);
});
