import { fireEvent, render, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";

import { Markdown } from "./Markdown";

async function drawn(text: string, until: (root: HTMLElement) => boolean = (root) => root.querySelector(".plain") === null): Promise<HTMLElement> {
  const { container } = render(<Markdown text={text} />);
  await waitFor(() => expect(until(container)).toBe(true));
  return container;
}

const HOSTILE = [
  "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "<iframe src=javascript:alert(1)>",
  "<a href=\"javascript:alert(1)\">x</a>", "<style>*{display:none}</style>", "<math><mtext><img src=x onerror=alert(1)></mtext></math>",
  "[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](data:text/html,<script>alert(1)</script>)", "[x](vbscript:x)", "[x](\u0001javascript:alert(1))",
  "[x](java\tscript:alert(1))", "<javascript:alert(1)>", "[x]: javascript:alert(1)\n\n[x]", "![x](javascript:alert(1))", "![x](https://evil.example/p.png)",
  "![x](//evil.example/p.png)", "[x](file:///etc/passwd)", "[x](blob:https://example.org/1)", "[x](//example.org)", "[^1]\n\n[^1]: <img src=x onerror=alert(1)>",
  "| <img src=x onerror=alert(1)> |\n|-|\n| <script>x</script> |", "```html\n<script>alert(1)</script>\n```", "```\"><img src=x onerror=alert(1)>\nx\n```",
  "$\\href{javascript:alert(1)}{x}$", "$$\\htmlData{onclick=alert(1)}{x}$$", "$\\includegraphics{https://evil.example/p.png}$", "$\\url{javascript:alert(1)}$",
  "- [x] <b onclick=alert(1)>y</b>", "> <img src=x onerror=alert(1)>", "# <script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;", "\\<script>alert(1)\\</script>",
];

describe("Markdown of somebody else", () => {
  it.each(HOSTILE)("becomes no element that runs or loads anything: %s", async (text) => {
    const root = await drawn(text);
    expect(root.querySelector("script, img, iframe, style, svg:not(.lucide), object, embed, link, form, base")).toBeNull();
    for (const element of root.querySelectorAll("*")) {
      for (const { name, value } of element.attributes) {
        expect(name.startsWith("on")).toBe(false);
        if (name === "href" || name === "src") expect(value).toMatch(/^(https?:\/\/|mailto:)/);
      }
    }
    for (const link of root.querySelectorAll("a")) expect(link.rel).toBe("noopener noreferrer nofollow");
  });

  it("shows HTML as it was written", async () => {
    expect((await drawn("a <b>b</b>")).textContent).toBe("a <b>b</b>");
  });

  it("shows where an image is, and does not load it", async () => {
    const link = (await drawn("![Rose](https://example.org/rose.png)")).querySelector("a");
    expect([link?.textContent, link?.href]).toEqual(["Rose", "https://example.org/rose.png"]);
  });

  it("shows a relative link as its label", async () => {
    const root = await drawn("see [events.md](events.md)");
    expect([root.textContent, root.querySelector("a")]).toEqual(["see events.md", null]);
  });
});

describe("Markdown", () => {
  it("draws tables, tasks, and emphasis beside Chinese punctuation", async () => {
    const root = await drawn("**重点：**后面\n\n| a | b |\n|:-:|-:|\n| 1 | 2 |\n\n- [x] done\n- [ ] open");
    expect(root.querySelector("strong")?.textContent).toBe("重点：");
    expect([...root.querySelectorAll("td")].map(({ className }) => className)).toEqual(["center", "right"]);
    expect([...root.querySelectorAll("input")].map(({ checked }) => checked)).toEqual([true, false]);
  });

  it("marks Chinese emphasis by dots", async () => {
    const root = await drawn("*重要* *new*");
    expect([...root.querySelectorAll("em")].map(({ className }) => className)).toEqual(["dotted", ""]);
  });

  it("numbers footnotes, and leads to them", async () => {
    const root = await drawn("b[^b] and a[^a]\n\n[^a]: first\n\n[^b]: second");
    expect([...root.querySelectorAll(".footnote")].map((note) => note.textContent)).toEqual(["1", "2"]);
    expect([...root.querySelectorAll(".footnotes")].map((note) => note.textContent)).toEqual(["2first", "1second"]);
  });

  it("sets math, and shows as written what is none", async () => {
    const root = await drawn("$x^2$ costs $5\n\n$$\n\\frac{a}{\n$$", (each) => each.querySelector("math") !== null);
    expect(root.querySelector("math msup")).not.toBeNull();
    expect(root.textContent).toContain("costs $5");
    expect(root.querySelector("pre.formula")?.textContent).toBe("\\frac{a}{");
  });

  it("colours code of a known language", async () => {
    const root = await drawn("```js\nconst a = 1;\n```", (each) => each.querySelector(".hl-keyword") !== null);
    expect(root.querySelector("pre")?.textContent).toBe("const a = 1;");
  });

  it("keeps the elements of blocks that did not change while a text grows", async () => {
    const { container, rerender } = render(<Markdown text={"one\n\ntwo\n\nthree"} />);
    await waitFor(() => expect(container.querySelector(".plain")).toBeNull());
    const [first] = container.querySelectorAll("p");
    rerender(<Markdown text={"one\n\ntwo\n\nthree **four**"} />);
    await waitFor(() => expect(container.querySelector("strong")).not.toBeNull());
    expect(container.querySelector("p")).toBe(first);
  });

  it("reads right-to-left text by its first letter, and code from the left", async () => {
    const root = await drawn("مرحبا `code`");
    expect([root.querySelector("p")?.dir, root.querySelector("code")?.dir]).toEqual(["auto", "ltr"]);
  });

  it("draws a long table in parts", async () => {
    const root = await drawn(`|a|\n|-|\n${"|b|\n".repeat(400)}`);
    expect(root.querySelectorAll("tbody tr")).toHaveLength(150);
    expect(root.querySelector("button.small")?.textContent).toContain("250");
  });

  it("keeps what is selected in a text that grows", async () => {
    const { container, rerender } = render(<Markdown text="先说第一句话" />);
    await waitFor(() => expect(container.querySelector(".plain")).toBeNull());
    const node = container.querySelector("p")?.firstChild;
    for (const text of ["先说第一句话，再说", "先说第一句话，再说**第二", "先说第一句话，再说**第二**句。\n\n以后"]) {
      rerender(<Markdown text={text} />);
      await waitFor(() => expect(container.textContent).toContain(text.replaceAll(/\*\*|\n/g, "").slice(-2)));
      expect([container.querySelector("p")?.firstChild === node, node?.nodeValue]).toEqual([true, "先说第一句话"]);
    }
  });

  it("folds details, and draws the few tags that have a meaning", async () => {
    const root = await drawn("<details><summary>更多</summary>\n\n**內容**\n</details>\n\nH<sub>2</sub>O<br>x <kbd>Ctrl</kbd>");
    expect(root.querySelector("details > summary")?.textContent).toBe("更多");
    expect(root.querySelector("details strong")?.textContent).toBe("內容");
    expect([...root.querySelectorAll("sub, br, kbd")].map(({ localName }) => localName)).toEqual(["sub", "br", "kbd"]);
  });

  it("sets chemistry", async () => {
    const root = await drawn("$\\ce{H2SO4 + 2NaOH -> Na2SO4}$ $\\pu{5 kg}$", (each) => each.querySelectorAll("math").length === 2);
    expect(root.querySelector("math")?.textContent).toContain("SO");
  });

  it("sets environments and numbers of equations", async () => {
    const root = await drawn("\\begin{align}\na &= b \\\\\nc &= d\n\\end{align}\n\n$$x = 1 \\tag{1}$$", (each) => each.querySelectorAll("div.formula math").length === 2);
    expect(root.querySelector(".formula")?.getAttribute("data-tex")).toContain("\\begin{align}");
  });

  it("gives a column of Chinese the room of some letters", async () => {
    const root = await drawn("| 名 | 說明 |\n|-|-|\n| a | 這是一段很長的說明文字，會換行 |");
    expect([...root.querySelectorAll("th")].map(({ style }) => style.minWidth)).toEqual(["", "11em"]);
  });

  it("reads a block of any length, and draws it in parts", async () => {
    const rows = await drawn(`|a|b|\n|-|-|\n${"|**b**|c d e f g h i j|\n".repeat(5_000)}`);
    expect([rows.querySelectorAll("tbody tr").length, rows.querySelector("td strong")?.textContent]).toEqual([150, "b"]);
    fireEvent.click(within(rows).getByRole("button", { name: /^Show more/ }));
    expect(rows.querySelectorAll("tbody tr")).toHaveLength(300);
    expect(rows.querySelector("button.small")?.textContent).toContain("4700");
    const line = await drawn("**a** b ".repeat(9_000));
    expect(line.querySelectorAll("strong").length).toBeLessThan(1_500);
    expect(line.querySelector("button.small")).not.toBeNull();
  });
});
