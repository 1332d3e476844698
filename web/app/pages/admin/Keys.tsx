// Keys: made and shown once, revoked for good.

import type { api } from "@chat-gateway/client";
import { Plus } from "lucide-react";
import { useState } from "react";

import { now } from "../../clock";
import { CopyButton } from "../../CopyButton";
import { Dialog } from "../../Dialog";
import { client, useWords } from "../../state";
import { useCardList } from "../card-list";
import { useTime } from "../locale-formats";
import { words as pageWords } from "../page-words";
import { StatusLine } from "../StatusLine";
import { words as table } from "./admin-words";

const ROLES = ["member", "reader", "admin", "service"] as const;
const read = async () => (await client.keys({ everybody: true })).keys.toReversed();

export function Keys() {
  const words = useWords(table);
  const { cancel } = useWords(pageWords);
  const { status, list, isAdding, setAdding, add, attempt, show } = useCardList(read);
  const [made, setMade] = useState<api.NewKey | null>(null);
  const [ended, setEnded] = useState(false);
  const [asked, setAsked] = useState<api.KeyReply | null>(null);
  const isOver = (key: api.KeyReply) => key.revoked_at !== undefined || (key.expires_at !== undefined && key.expires_at <= now());
  const revoke = async (key: api.KeyReply) => {
    setAsked(null);
    await attempt(async () => {
      await client.revokeKey(key.id);
      await show(); // first: what is read anew takes away what was told before
      return words.revokedNow;
    });
  };
  return (
    <>
      <p className="faint">{words.keysHint}</p>
      <div className="page-bar">
        <button type="button" className="small" aria-expanded={isAdding} onClick={() => setAdding(!isAdding)}><Plus aria-hidden="true" />{words.newKey}</button>
        <label className="check"><input type="checkbox" checked={ended} onChange={({ target }) => setEnded(target.checked)} /> {words.showRevoked}</label>
      </div>
      <StatusLine status={status} />
      {made !== null && (
        <div className="page-note" role="status">
          <p dir="auto">{words.secret(made.name)}</p>
          <code dir="ltr">{made.key}</code> <CopyButton text={() => made.key} />
        </div>
      )}
      {isAdding && <KeyForm onDone={(body) => add(async () => setMade(await client.createKey(body)))} onCancel={() => setAdding(false)} />}
      <KeyTable keys={(list ?? []).filter((key) => ended || !isOver(key))} isRead={list !== null} isOver={isOver} onRevoke={setAsked} />
      {asked !== null && (
        <Dialog title={words.revokeTitle(asked.name)} onClose={() => setAsked(null)}>
          <p>{words.revokeHint}</p>
          <div className="buttons">
            <button type="button" className="primary dangerous" onClick={() => void revoke(asked)}>{words.revokeNow}</button>
            <button type="button" className="small" data-first onClick={() => setAsked(null)}>{cancel}</button>
          </div>
        </Dialog>
      )}
    </>
  );
}

interface KeyTableProps {
  readonly keys: readonly api.KeyReply[];
  readonly isRead: boolean;
  readonly isOver: (key: api.KeyReply) => boolean;
  readonly onRevoke: (key: api.KeyReply) => void;
}

function KeyTable({ keys, isRead, isOver, onRevoke }: KeyTableProps) {
  const words = useWords(table);
  const time = useTime();
  const state = (key: api.KeyReply) => key.revoked_at !== undefined ? words.revoked : isOver(key) ? words.expired : words.holds;
  if (keys.length === 0) return isRead ? <p className="empty">{words.noKeys}</p> : null;
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label={words.sections.keys}>
      <table>
        <thead>
          <tr>
            <th scope="col">{words.key}</th><th scope="col">{words.user}</th><th scope="col">{words.roles}</th><th scope="col">{words.made}</th>
            <th scope="col">{words.used}</th><th scope="col">{words.ends}</th><th scope="col">{words.state}</th><th scope="col"><span className="unseen">{words.revoke}</span></th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id}>
              <th scope="row" dir="auto">{key.name}</th><td dir="auto">{key.user_id}</td>
              <td>{key.roles.map((role) => (words.roleNames as Readonly<Record<string, string>>)[role] ?? role).join(", ")}</td>
              <td>{time(key.created_at)}</td><td>{key.used_at === undefined ? words.never : time(key.used_at)}</td>
              <td>{key.expires_at === undefined ? "–" : time(key.expires_at)}</td><td>{state(key)}</td>
              <td>{!isOver(key) && <button type="button" className="small" aria-label={words.actionOf(words.revoke, key.name)} onClick={() => onRevoke(key)}>{words.revoke}</button>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface KeyFormProps {
  readonly onDone: (body: api.KeyBody) => Promise<unknown>;
  readonly onCancel: () => void;
}

function KeyForm({ onDone, onCancel }: KeyFormProps) {
  const words = useWords(table);
  const { cancel } = useWords(pageWords);
  const [name, setName] = useState("");
  const [user, setUser] = useState("");
  const [tenant, setTenant] = useState("");
  const [role, setRole] = useState<(typeof ROLES)[number]>("member");
  const [day, setDay] = useState("");
  const [isBusy, setBusy] = useState(false);
  return (
    <form className="card page-form" aria-label={words.newKey} onSubmit={(event) => {
      event.preventDefault();
      setBusy(true);
      const body = {
        name, role, ...(user.trim() !== "" ? { user: user.trim() } : {}), ...(tenant.trim() !== "" ? { tenant: tenant.trim() } : {}),
        ...(day !== "" ? { expires_at: new Date(`${day}T23:59:59`).getTime() } : {}),
      };
      void onDone(body).finally(() => setBusy(false));
    }}>
      <label>{words.keyName}<input required autoFocus maxLength={100} value={name} onChange={({ target }) => setName(target.value)} /></label>
      <div className="fields">
        <label>{words.keyUser}<input maxLength={64} autoComplete="off" dir="ltr" value={user} onChange={({ target }) => setUser(target.value)} /></label>
        <label>{words.tenant}<input maxLength={64} autoComplete="off" dir="ltr" value={tenant} onChange={({ target }) => setTenant(target.value)} /></label>
        <label>{words.role}
          <select value={role} onChange={({ target }) => setRole(target.value as (typeof ROLES)[number])}>
            {ROLES.map((each) => <option key={each} value={each}>{words.roleNames[each]}</option>)}
          </select>
        </label>
        <label>{words.expires}<input type="date" value={day} onChange={({ target }) => setDay(target.value)} /></label>
      </div>
      <div className="buttons">
        <button type="submit" className="primary" disabled={isBusy}>{words.create}</button>
        <button type="button" className="small" onClick={onCancel}>{cancel}</button>
      </div>
    </form>
  );
}
