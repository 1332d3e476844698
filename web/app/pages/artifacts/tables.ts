// CSV and JSON as tables.

import Papa from "papaparse";

export interface TableData {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const MOST_COLUMNS = 200;

// Comma, semicolon or tab, as the text itself shows; the first line names the columns. `isWhole`: the text is not cut
// off, else its last line may be half a line and is left out. Throws a SyntaxError where it is no table.
export function tableOfCsv(text: string, isWhole: boolean): TableData {
  const { data, meta } = Papa.parse<string[]>(text.replace(/^\ufeff/, ""), { skipEmptyLines: "greedy" });
  const lines = isWhole || meta.aborted ? data : data.slice(0, -1);
  const [head, ...rows] = lines;
  if (!head) throw new SyntaxError();
  const width = Math.min(MOST_COLUMNS, Math.max(head.length, ...rows.slice(0, 1000).map((row) => row.length)));
  return {
    columns: Array.from({ length: width }, (_, at) => head[at] ?? ""),
    rows: rows.map((row) => Array.from({ length: width }, (_, at) => row[at] ?? "")),
  };
}

/** A list, or an object, in a JSON text: where it is, and the table that it makes. */
export interface JsonPart {
  /** "" for the whole. */
  readonly path: string;
  readonly table: () => TableData;
}

// The lists in a JSON text, the longest first; or its fields where it has none.
export function partsOfJson(text: string): JsonPart[] {
  const value = parse(text);
  if (Array.isArray(value)) return [{ path: "", table: () => tableOfList(value) }];
  if (!isObject(value)) throw new SyntaxError();
  const lists = listsIn(value, "", 0).sort((one, other) => other.list.length - one.list.length);
  const parts = lists.map(({ path, list }) => ({ path, table: () => tableOfList(list) }));
  return [...parts, { path: "", table: () => tableOfList(Object.entries(value).map(([name, each]) => ({ "": name, " ": each }))) }];
}

type Json = Readonly<Record<string, unknown>>;

function tableOfList(list: readonly unknown[]): TableData {
  if (list.every((each) => Array.isArray(each))) {
    const width = Math.min(MOST_COLUMNS, Math.max(0, ...list.slice(0, 1000).map((row) => row.length)));
    const columns = Array.from({ length: width }, (_, at) => String(at + 1));
    return { columns, rows: list.map((row) => columns.map((_, at) => cell(row[at]))) };
  }
  const names = new Set<string>();
  for (const each of list) {
    if (!isObject(each)) names.add(" ");
    else for (const name of Object.keys(each)) names.add(name);
    if (names.size >= MOST_COLUMNS) break;
  }
  const columns = [...names].slice(0, MOST_COLUMNS);
  return { columns, rows: list.map((each) => columns.map((name) => cell(isObject(each) ? Object.hasOwn(each, name) ? each[name] : undefined : name === " " ? each : undefined))) };
}

function listsIn(value: Json, path: string, depth: number): { path: string; list: unknown[] }[] {
  return Object.entries(value).flatMap(([name, each]) => {
    const place = path === "" ? name : `${path}.${name}`;
    if (Array.isArray(each)) return each.length > 0 ? [{ path: place, list: each }] : [];
    return isObject(each) && depth < 3 ? listsIn(each, place, depth + 1) : [];
  });
}

function cell(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// An integer that a number cannot hold stays a text with all its digits, where the browser tells them.
function parse(text: string): unknown {
  return JSON.parse(text, (_: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "") ? context?.source : value) as unknown;
}
