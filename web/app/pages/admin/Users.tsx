// Users: when they were here last, what they may, and what they used this month.

import type { api } from "@chat-gateway/client";
import { ArrowLeft } from "lucide-react";
import { useCallback, useEffect, useState } from "react";

import { count, money } from "../../inspector/numbers";
import { client, useWords } from "../../state";
import { useTime } from "../locale-formats";
import { usePageStatus } from "../page-status";
import { StatusLine } from "../StatusLine";
import { Month } from "../usage/Month";
import { costText, ownZone } from "../usage/months";
import { words as usageTable } from "../usage/usage-words";
import { words as table } from "./admin-words";

export function Users() {
  const words = useWords(table);
  const [shown, setShown] = useState<api.UserRow | null>(null);
  const { status, attempt } = usePageStatus();
  const [users, setUsers] = useState<readonly api.UserRow[]>([]);
  const [next, setNext] = useState<string | undefined>("");
  const more = useCallback((after: string) => attempt(async () => {
    const page = await client.users({ after, timezone: ownZone() });
    setUsers((known) => after === "" ? page.users : [...known, ...page.users]);
    setNext(page.next);
    return undefined;
  }), [attempt]);
  useEffect(() => void more(""), [more]);
  if (shown !== null) return <OneUser user={shown} onBack={() => setShown(null)} />;
  return (
    <>
      <p className="faint">{words.usersHint}</p>
      <StatusLine status={status} />
      <Table users={users} onShow={setShown} />
      {next !== undefined && next !== "" && <button type="button" className="small more" onClick={() => void more(next)}>{words.more}</button>}
    </>
  );
}

interface TableProps {
  readonly users: readonly api.UserRow[];
  readonly onShow: (user: api.UserRow) => void;
}

function Table({ users, onShow }: TableProps) {
  const words = useWords(table);
  const usage = useWords(usageTable);
  const time = useTime();
  return (
    <div className="table-scroll usage-table users" tabIndex={0} role="region" aria-label={words.sections.users}>
      <table>
        <thead>
          <tr>
            <th scope="col">{words.user}</th><th scope="col">{words.roles}</th><th scope="col">{words.seen}</th>
            <th scope="col">{usage.answers}</th><th scope="col">{usage.cost}</th>
          </tr>
        </thead>
        <tbody>
          {users.map((each) => (
            <tr key={each.user_id}>
              <th scope="row"><button type="button" className="small" onClick={() => onShow(each)} aria-label={words.usageOf(each.user_id)} dir="auto">{each.user_id}</button></th>
              <td>{each.roles.map((role) => (words.roleNames as Readonly<Record<string, string>>)[role] ?? role).join(", ") || "–"}</td>
              <td>{each.seen_at === undefined ? words.never : time(each.seen_at)}</td>
              <td>{count(each.used.turns)}</td>
              <td>{costText(each.used, usage, money)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function OneUser({ user: { user, tenant, user_id: id }, onBack }: { readonly user: api.UserRow; readonly onBack: () => void }) {
  const words = useWords(table);
  const read = useCallback((query: api.MonthQuery) => client.usageOfUser(user, { ...query, tenant }), [user, tenant]);
  const save = useCallback((query: api.MonthQuery) => client.usageTableOfUser(user, { ...query, tenant }), [user, tenant]);
  return (
    <>
      <div className="page-bar">
        <button type="button" className="small" autoFocus onClick={onBack}><ArrowLeft aria-hidden="true" />{words.back}</button>
        <strong dir="auto">{words.usageOf(id)}</strong>
      </div>
      <Month read={read} save={save} />
    </>
  );
}
