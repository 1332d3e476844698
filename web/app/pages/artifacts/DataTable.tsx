// A table of texts, some rows at a time.

import { useState } from "react";

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
  const count = (value: number) => value.toLocaleString(localeOf(language));
  return (
    <>
      <div className="table-scroll" tabIndex={0} role="region" aria-label={name}>
        <table>
          <thead>
            <tr><th scope="col" className="faint">#<span className="unseen">{words.rowNumber}</span></th>{columns.map((column, at) => <th key={at} scope="col" dir="auto">{heading(column, at, words)}</th>)}</tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((row, at) => (
              <tr key={at}><th scope="row">{count(at + 1)}</th>{row.map((cell, column) => <td key={column} dir="auto">{cell}</td>)}</tr>
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

// The two columns of an object's fields have no names of their own.
function heading(column: string, at: number, { key, value }: { readonly key: string; readonly value: string }): string {
  if (column === " ") return value;
  return column === "" && at === 0 ? key : column;
}
