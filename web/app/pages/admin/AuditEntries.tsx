// Who did what, the newest first.

import type { api } from "@chat-gateway/client";
import { useCallback, useEffect, useState } from "react";

import { client, useWords } from "../../state";
import { useTime } from "../locale-formats";
import { usePageStatus } from "../page-status";
import { StatusLine } from "../StatusLine";
import { words as table } from "./admin-words";

export function AuditEntries() {
  const words = useWords(table);
  const time = useTime();
  const { status, attempt } = usePageStatus();
  const [actor, setActor] = useState("");
  const [entries, setEntries] = useState<readonly api.AuditItem[]>([]);
  const [next, setNext] = useState<number | undefined>(undefined);
  const read = useCallback((of: string, before?: number) => attempt(async () => {
    const page = await client.audit({ ...(of !== "" ? { actor: of } : {}), ...(before !== undefined ? { before } : {}) });
    setEntries((known) => before === undefined ? page.entries : [...known, ...page.entries]);
    setNext(page.next);
    return undefined;
  }), [attempt]);
  useEffect(() => void read(""), [read]);
  return (
    <>
      <p className="faint">{words.auditHint}</p>
      <form className="page-bar" role="search" aria-label={words.sections.audit} onSubmit={(event) => {
        event.preventDefault();
        void read(actor.trim());
      }}>
        <input type="search" aria-label={words.search} placeholder={words.search} maxLength={256} value={actor} onChange={({ target }) => setActor(target.value)} />
        <button type="submit" className="small">{words.filter}</button>
      </form>
      <StatusLine status={status} />
      <div className="table-scroll" tabIndex={0} role="region" aria-label={words.sections.audit}>
        <table>
          <thead><tr><th scope="col">{words.when}</th><th scope="col">{words.who}</th><th scope="col">{words.action}</th><th scope="col">{words.subject}</th><th scope="col">{words.result}</th></tr></thead>
          <tbody>
            {entries.map((each) => (
              <tr key={each.number}>
                <td className="time">{time(each.at)}</td><td dir="auto">{each.actor ?? words.nobody}</td><td><code>{each.action}</code></td>
                <td dir="auto">{each.subject_id ?? "–"}</td><td>{each.result}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {next !== undefined && <button type="button" className="small more" onClick={() => void read(actor.trim(), next)}>{words.more}</button>}
    </>
  );
}
