// The id of a turn's trace, and the way to it in the dashboard of the server or of the reader.

import { useId, useState } from "react";

import { keep, kept } from "../kept";
import { useWords } from "../state";
import { CopyButton } from "./CopyButton";
import { words as table } from "./words";

const KEPT = "gateway.trace-address";
const PLACE = "{trace_id}";

export function TraceLine({ id, url }: { readonly id: string; readonly url: string | undefined }) {
  const words = useWords(table);
  const field = useId();
  const [template, setTemplate] = useState(() => kept(KEPT) ?? "");
  const [editing, setEditing] = useState<string | null>(null);
  const [isBad, setBad] = useState(false);
  const address = isAddress(url) ? url : template.replaceAll(PLACE, encodeURIComponent(id));
  const save = (text: string) => {
    const wanted = text.trim();
    const isGood = wanted === "" || (isAddress(wanted) && wanted.includes(PLACE));
    setBad(!isGood);
    if (!isGood) return;
    keep(KEPT, wanted);
    setTemplate(wanted);
    setEditing(null);
  };
  return (
    <div className="trace">
      <p>
        <span className="quiet">{words.trace}</span> <code>{id}</code>{" "}
        <CopyButton text={id} />{" "}
        {address !== "" && <a href={address} target="_blank" rel="noreferrer noopener">{words.openTrace}</a>}{" "}
        {url === undefined && editing === null && (
          <button type="button" className="link" onClick={() => setEditing(template)}>{words.traceAddress}</button>
        )}
      </p>
      {editing !== null && (
        <form onSubmit={(event) => { event.preventDefault(); save(editing); }}>
          <label htmlFor={field}>{words.traceAddress}</label>
          <input id={field} type="text" inputMode="url" value={editing} aria-invalid={isBad} aria-describedby={`${field}-hint`}
            onChange={(event) => setEditing(event.target.value)} />
          <p id={`${field}-hint`} className="quiet" role={isBad ? "alert" : undefined}>{isBad ? words.badAddress : words.traceHint}</p>
          <button type="submit" className="small">{words.save}</button>
        </form>
      )}
    </div>
  );
}

function isAddress(text: string | undefined): text is string {
  try {
    return ["https:", "http:"].includes(new URL(text ?? "").protocol);
  } catch {
    return false;
  }
}
