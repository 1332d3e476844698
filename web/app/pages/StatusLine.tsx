import { useWords } from "../state";
import type { StatusText } from "./page-status";
import { words as table } from "./page-words";

export function StatusLine({ status: { text, isTrouble, undo } }: { readonly status: StatusText }) {
  const words = useWords(table);
  return (
    <p role="status" className={isTrouble ? "status-line trouble" : "status-line"}>
      {text}{undo && <> <button type="button" className="small" onClick={undo}>{words.undo}</button></>}
    </p>
  );
}
