// The rows of a table as text: for a spreadsheet that they are pasted into (tabs), and as a CSV file (RFC 4180).

import type { Table, TableRow } from "mdast";

import { textOf } from "./text-of";

/** All rows as texts, also those that are not drawn. */
export function rowsOf(node: Table): string[][] {
  const packed = (node.packed ?? []).flatMap((part) => JSON.parse(part) as TableRow[]);
  return [...node.children, ...packed].map(({ children }) => children.map((cell) => harmless(textOf(cell).trim())));
}

export const asTabs = (rows: readonly string[][]): string => rows.map((row) => row.map((cell) => cell.replaceAll(/[\t\r\n]+/g, " ")).join("\t")).join("\n");

export const asCsv = (rows: readonly string[][]): string => rows.map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";

const quoted = (cell: string): string => /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;

// What a spreadsheet would run is a text for it; a number with a sign is a number.
const harmless = (cell: string): string => /^[=@]|^[+-](?![\d.,\s]*%?$)/.test(cell) ? `'${cell}` : cell;
