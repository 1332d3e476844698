import type { Table } from "mdast";
import { expect, test } from "vitest";

import { asCsv, asTabs, rowsOf } from "./table-text";
import { parse } from "./parse";

const tableOf = (source: string): Table => {
  const found = parse(source)?.find(({ type }) => type === "table");
  if (found?.type !== "table") throw new Error("no table");
  return found;
};

test("a table is text for a spreadsheet and a CSV file, whatever its cells have", () => {
  const rows = rowsOf(tableOf('| 名称 | **Price** |\n|---|---|\n| Rose, red | 1,000 |\n| say "hi" | `-5%` |\n| =1+1 | -cmd |'));

  expect(rows).toEqual([["名称", "Price"], ["Rose, red", "1,000"], ['say "hi"', "-5%"], ["'=1+1", "'-cmd"]]);
  expect(asTabs(rows).split("\n")[1]).toBe("Rose, red\t1,000");
  expect(asCsv(rows)).toBe('名称,Price\r\n"Rose, red","1,000"\r\n"say ""hi""",-5%\r\n\'=1+1,\'-cmd\r\n');
});

test("rows that are not drawn yet are in it", () => {
  const many = Array.from({ length: 3_000 }, (_, row) => `| ${row} | b |`).join("\n");

  expect(rowsOf(tableOf(`| a | b |\n|---|---|\n${many}`))).toHaveLength(3_001);
});
