import { describe, expect, it } from "vitest";
import { parse } from "./parse";

const types = (source: string) => JSON.stringify(parse(source));

describe("Markdown", () => {
  it.each([
    ["**重点：**后面", '"strong"'],
    ["这是**“引用”**文字", '"strong"'],
    ["~~旧的。~~新的", '"delete"'],
    ["***both***", '"emphasis","children":[{"type":"strong"'],
    ["- [x] done\n- [ ] open", '"checked":true'],
    ["| a | b |\n|:-|-:|\n| x \\| y | z |", '"value":"x | y"'],
    ["a[^1]\n\n[^1]: b", '"footnoteReference"'],
  ])("%s", (source, expected) => {
    expect(types(source)).toContain(expected);
  });

  it.each([
    ["见https://example.org/a，很好。", "https://example.org/a"],
    ["https://example.org/x.", "https://example.org/x"],
    ["www.example.org。然后", "http://www.example.org"],
  ])("ends an address in time: %s", (source, url) => {
    expect(types(source)).toContain(`"url":"${url}"`);
  });

  it("resolves a reference by the lines that come with it, and does not show them", () => {
    const tree = parse("see [a]", "[a]: https://example.org");
    expect(tree).toHaveLength(1);
    expect(JSON.stringify(tree)).toContain('"type":"link","children":[{"type":"text","value":"a"}],"label":"a","identifier":"a","referenceType":"shortcut","url":"https://example.org"');
  });

  it.each([
    [">".repeat(10_000) + " deep"],
    [Array.from({ length: 60 }, (_, depth) => `${"  ".repeat(depth)}- a`).join("\n")],
    ["|a".repeat(300) + "\n" + "|-".repeat(300)],
  ])("gives up on what could not be drawn", (source) => {
    expect(parse(source)).toBeNull();
  });
});

describe("lists in lists", () => {
  it("deeper than anybody writes are not read, and not for long", () => {
    expect(parse(`${"- ".repeat(100_000)}a`)).toBeNull();
    expect(parse(`${"1. ".repeat(40)}a`)).toBeNull();
    expect(parse(`${"> - ".repeat(20)}a`)).toBeNull();
  });

  it("are no rule, which may be of any length", () => {
    expect(parse("- ".repeat(40))?.map(({ type }) => type)).toEqual(["thematicBreak"]);
    expect(parse("* ".repeat(40))?.map(({ type }) => type)).toEqual(["thematicBreak"]);
    expect(parse(`${"- ".repeat(9)}a`)?.map(({ type }) => type)).toEqual(["list"]);
  });
});
