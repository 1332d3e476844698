// The words of what can be done with a table.

import { table } from "../../language";

export const words = table(
  { table: "Table", copy: "Copy table for a spreadsheet", copyCsv: "Copy table as CSV", save: "Download table as CSV" },
  { table: "表格", copy: "复制表格到电子表格", copyCsv: "复制表格为 CSV", save: "下载表格为 CSV" },
  { table: "表格", copy: "複製表格到試算表", copyCsv: "複製表格為 CSV", save: "下載表格為 CSV" },
);
