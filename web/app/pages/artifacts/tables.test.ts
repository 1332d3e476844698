import { expect, test } from "vitest";

import { partsOfJson, tableOfCsv } from "./tables";

const csv = (text: string, isWhole = true) => tableOfCsv(text, isWhole);
const json = (text: string) => partsOfJson(text).map(({ path, table }) => ({ path, ...table() }));

test("a CSV has commas, semicolons or tabs, and cells with line ends and quotes in them", () => {
  expect(csv('a,b\n1,"x, ""y""\nz"\n\n')).toEqual({ columns: ["a", "b"], rows: [["1", 'x, "y"\nz']] });
  expect(csv("\ufeff名称;数量\r\n茶;2\r\n").rows).toEqual([["茶", "2"]]);
  expect(csv("a\tb\n1\t2").columns).toEqual(["a", "b"]);
});

test("rows of other lengths are filled up, none is lost", () => {
  expect(csv("a,b\n1\n1,2,3\n")).toEqual({ columns: ["a", "b", ""], rows: [["1", "", ""], ["1", "2", "3"]] });
});

test("the last line of a text that is cut off may be half a line", () => {
  expect(csv("a,b\n1,2\n3,", false).rows).toEqual([["1", "2"]]);
});

test("what is no table says so", () => {
  expect(() => csv("")).toThrow(SyntaxError);
  expect(() => json('"text"')).toThrow(SyntaxError);
  expect(() => json("{")).toThrow(SyntaxError);
});

test("a list of objects has a column for each name", () => {
  expect(json('[{"a":1,"b":"x"},{"b":null,"c":{"d":[1]}}]')).toEqual([
    { path: "", columns: ["a", "b", "c"], rows: [["1", "x", ""], ["", "null", '{"d":[1]}']] },
  ]);
});

test("lists within an object are found, the longest first, and the object itself comes last", () => {
  const [first, second, whole] = json('{"total":3,"page":{"orders":[{"id":1},{"id":2}]},"tags":["x"]}');
  expect([first?.path, second?.path, whole?.path]).toEqual(["page.orders", "tags", ""]);
  expect(first?.rows).toEqual([["1"], ["2"]]);
  expect(second?.rows).toEqual([["x"]]);
  expect(whole?.rows[0]).toEqual(["total", "3"]);
});

test("lists of lists are rows", () => {
  expect(json("[[1,2],[3]]")).toEqual([{ path: "", columns: ["1", "2"], rows: [["1", "2"], ["3", ""]] }]);
});

test("names that objects have by nature are columns like others", () => {
  expect(json('[{"__proto__":1,"constructor":2},{}]')[0]?.rows).toEqual([["1", "2"], ["", ""]]);
});

test.runIf("rawJSON" in JSON)("long numbers keep their digits", () => {
  expect(json('[{"id":12345678901234567890}]')[0]?.rows).toEqual([["12345678901234567890"]]);
});
