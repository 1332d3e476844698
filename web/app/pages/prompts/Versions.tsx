// What is written in place of a component's file: saved for everybody, version by version, with a way back to each.

import type { api } from "@chat-gateway/client";
import { useCallback, useEffect, useState } from "react";

import { client, useWords } from "../../state";
import { useTime } from "../locale-formats";
import { usePageStatus } from "../page-status";
import { StatusLine } from "../StatusLine";
import { linesOf } from "./line-difference";
import { words as table } from "./version-words";

interface Props {
  readonly component: api.ComponentReport;
  /** What stands in the editor. */
  readonly text: string;
  readonly onTake: (text: string) => void;
  /** The prompt says something else now. */
  readonly onSaved: () => void;
}

export function Versions({ component: { name, never_cut: isFixed, source }, text, onTake, onSaved }: Props) {
  const words = useWords(table);
  const { status, attempt } = usePageStatus();
  const [note, setNote] = useState("");
  const [versions, setVersions] = useState<readonly api.PromptVersionReply[] | null>(null);
  const [next, setNext] = useState<number | undefined>(undefined);
  const read = useCallback((before?: number) => attempt(async () => {
    const page = await client.promptVersions(name, before === undefined ? {} : { before });
    setVersions((known) => before === undefined ? page.versions : [...known ?? [], ...page.versions]);
    setNext(page.next);
    return undefined;
  }), [attempt, name]);
  useEffect(() => void read(), [read]);
  const save = async (wanted: string | null, told: string) => {
    const isDone = await attempt(async () => {
      const body = { note: note.trim(), after: versions?.[0]?.number ?? 0 };
      const made = await client.changePrompt(name, wanted === null ? body : { ...body, text: wanted });
      setVersions((known) => [made, ...known ?? []]);
      return told;
    });
    if (isDone) onSaved();
  };
  return (
    <>
      {isFixed && <p className="page-note">{words.fixed}</p>}
      <div className="buttons">
        <input type="text" className="grow" maxLength={500} aria-label={words.note} placeholder={words.note} value={note} onChange={({ target }) => setNote(target.value)} />
        <button type="button" className="primary" disabled={versions === null || text.trim() === ""} onClick={() => void save(text, words.saved)}>{words.save}</button>
        {source === "edited" && <button type="button" className="small" disabled={versions === null} onClick={() => void save(null, words.usesFile)}>{words.useFile}</button>}
      </div>
      <StatusLine status={status} />
      <details className="card">
        <summary>{words.versions} <small>{versions?.length ?? ""}</small></summary>
        {versions?.length === 0 && <p className="empty">{words.none}</p>}
        <ol className="history">{versions?.map((each, at) => <Version key={each.number} version={each} former={versions.slice(at + 1).find((one) => one.text !== undefined)} onTake={onTake} />)}</ol>
        {next !== undefined && versions !== null && versions.length > 0 && <button type="button" className="small" onClick={() => void read(next)}>{words.more}</button>}
      </details>
    </>
  );
}

interface VersionProps {
  readonly version: api.PromptVersionReply;
  /** The one before it with a text. */
  readonly former: api.PromptVersionReply | undefined;
  readonly onTake: (text: string) => void;
}

function Version({ version: { number, text, note, changed_by: who, changed_at: at }, former, onTake }: VersionProps) {
  const words = useWords(table);
  const time = useTime();
  return (
    <li>
      <div className="row">
        <span dir="auto">{words.version(String(number), who, time(at))} <small dir="auto">{text === undefined ? words.isFile : note}</small></span>
        {text !== undefined && <button type="button" className="small" onClick={() => onTake(text)}>{words.take}<span className="unseen"> {number}</span></button>}
      </div>
      {text !== undefined && (
        <details>
          <summary>{words.changes}</summary>
          <pre tabIndex={0} aria-label={words.changes} dir="auto">{linesOf(former?.text ?? "", text).map(({ mark, text: line }, place) =>
            mark === " " ? `  ${line}\n` : mark === "-" ? <del key={place}>{`- ${line}\n`}</del> : <ins key={place}>{`+ ${line}\n`}</ins>)}</pre>
        </details>
      )}
    </li>
  );
}
