// A table of texts, some rows at a time.

import { useMemo, useState } from "react";

import { useLanguage } from "../../settings";
import { useWords } from "../../state";
import { localeOf } from "../locale-formats";
import { words as table } from "../page-words";
import type { TableData } from "./tables";

const ROWS = 100;

interface Props {
  readonly name: string;
  readonly data: TableData;
  /** What of the file is in it, where that is not all. */
  readonly remark: string;
}

export function DataTable({ name, data: { columns, rows }, remark }: Props) {
  const { artifacts: words, more } = useWords(table);
  const language = useLanguage();
  const [shown, setShown] = useState(ROWS);
  const areNumbers = useMemo(() => columns.map((_, at) => isOfNumbers(rows, at)), [columns, rows]);
  const count = (value: number) => value.toLocaleString(localeOf(language));
  return (
    <>
      <div className="table-scroll" tabIndex={0} role="region" aria-label={name}>
        <table>
          <thead>
            <tr><th scope="col" className="faint">#<span className="unseen">{words.rowNumber}</span></th>{columns.map((column, at) => <th key={at} scope="col" dir="auto" data-number={areNumbers[at]}>{heading(column, at, words)}</th>)}</tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((row, at) => (
              <tr key={at}><th scope="row">{count(at + 1)}</th>{row.map((cell, column) => <td key={column} dir="auto" data-number={areNumbers[column]}>{cell}</td>)}</tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="row">
        <small>{words.rowsShown(count(Math.min(shown, rows.length)), count(rows.length))} {remark}</small>
        {shown < rows.length && <button type="button" className="small" onClick={() => setShown(shown + ROWS)}>{more}</button>}
      </p>
    </>
  );
}

const LOOKED_AT = 100; // rows of a column that tell what it holds
const NUMBER = /^[+\-−]?[$€£¥]?(\d{1,3}([,. ’']\d{3})+|\d+)([.,]\d+)?([eE][+-]?\d+)?\s?%?$/;

// Whether a column has numbers, which are compared by their last digits.
function isOfNumbers(rows: TableData["rows"], column: number): boolean {
  const cells = rows.slice(0, LOOKED_AT).map((row) => row[column]?.trim() ?? "").filter((cell) => cell !== "");
  return cells.length > 0 && cells.every((cell) => NUMBER.test(cell));
}

// The two columns of an object's fields have no names of their own.
function heading(column: string, at: number, { key, value }: { readonly key: string; readonly value: string }): string {
  if (column === " ") return value;
  return column === "" && at === 0 ? key : column;
}
