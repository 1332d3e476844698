// What can be done with a table: copied for a spreadsheet or as CSV, or saved.

import { Download } from "lucide-react";
import type { Table } from "mdast";

import { CopyButton } from "../../CopyButton";
import { saveFile } from "../../downloads";
import { useWords } from "../../state";
import { asCsv, asTabs, rowsOf } from "./table-text";
import { words as table } from "./table-words";

const MARK = "\ufeff"; // by which Excel knows that letters are UTF-8

export function TableActions({ node }: { readonly node: Table }) {
  const words = useWords(table);
  const rows = () => rowsOf(node);
  const save = () => saveFile(new File([MARK, asCsv(rows())], "table.csv", { type: "text/csv" }));
  return (
    <div className="table-actions" role="group" aria-label={words.table}>
      <CopyButton label={words.copy} text={() => asTabs(rows())} />
      <CopyButton label={words.copyCsv} text={() => asCsv(rows())} name="CSV" />
      <button type="button" className="icon" title={words.save} aria-label={words.save} onClick={save}><Download aria-hidden /></button>
    </div>
  );
}
