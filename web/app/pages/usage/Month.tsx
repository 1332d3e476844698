// A month of usage: its sum, its days, its models and chats, and what limits leave.

import { type api } from "@chat-gateway/client";
import { ChevronLeft, ChevronRight, Download } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";

import { saveFile } from "../../downloads";
import { count, extent, money } from "../../inspector/numbers";
import { hashOf, NEW_CHAT } from "../../page-address";
import { useLanguage } from "../../settings";
import { useWords } from "../../state";
import { localeOf, useTime } from "../locale-formats";
import { usePageStatus } from "../page-status";
import { StatusLine } from "../StatusLine";
import { costText, daysOf, monthBeside, monthText, ownZone } from "./months";
import { words as table } from "./usage-words";
import "../pages.css";
import "./usage.css";

interface Props {
  /** Asks for a month; of the reader, or of a user of theirs. The same function each time. */
  readonly read: (query: api.MonthQuery) => Promise<api.MonthReply>;
  readonly save: (query: api.MonthQuery) => Promise<File>;
}

export function Month({ read, save }: Props) {
  const words = useWords(table);
  const locale = localeOf(useLanguage());
  const { status, attempt } = usePageStatus();
  const [wanted, setWanted] = useState<string | undefined>(undefined);
  const [shown, setShown] = useState<api.MonthReply | null>(null);
  useEffect(() => {
    let isLeft = false;
    void attempt(async () => {
      const found = await read({ timezone: ownZone(), ...(wanted === undefined ? {} : { month: wanted }) });
      if (!isLeft) setShown(found);
      return undefined;
    });
    return () => { isLeft = true; };
  }, [attempt, read, wanted]);
  const [current, setCurrent] = useState<string | null>(null);
  if (shown !== null && wanted === undefined && current !== shown.month) setCurrent(shown.month);
  if (shown === null) return <StatusLine status={status} />;
  const { month, total } = shown;
  const download = () => attempt(async () => {
    saveFile(await save({ month, timezone: ownZone(), format: "csv" }));
    return undefined;
  });
  return (
    <>
      <div className="page-bar usage-bar">
        <button type="button" className="icon" aria-label={words.before} title={words.before}
          disabled={shown.since === undefined || month <= shown.since} onClick={() => setWanted(monthBeside(month, -1))}><ChevronLeft /></button>
        <h2 aria-live="polite">{monthText(month, locale)}</h2>
        <button type="button" className="icon" aria-label={words.after} title={words.after}
          disabled={current !== null && month >= current} onClick={() => setWanted(monthBeside(month, 1))}><ChevronRight /></button>
        <button type="button" className="small" onClick={() => void download()}><Download aria-hidden="true" />{words.download}</button>
      </div>
      <StatusLine status={status} />
      <dl className="usage-sum">
        <Figure name={words.cost} value={costText(total, words, money)} />
        <Figure name={words.answers} value={count(total.turns)} />
        <Figure name={words.read} value={count(total.input_tokens)} />
        <Figure name={words.written} value={count(total.output_tokens)} />
      </dl>
      {total.unpriced > 0 && <p className="page-note">{words.unpriced(count(total.unpriced))}</p>}
      {shown.days.length === 0 ? <p className="empty">{words.nothing}</p> : (
        <>
          <Days month={month} days={shown.days} locale={locale} />
          <Sums title={words.byModel} first={words.model} rows={shown.models.map((each) => ({ key: each.model, name: each.model, used: each }))} />
          <Sums title={words.byChat} first={words.chat} rows={[
            ...shown.sessions.map((each) => ({ key: each.session_id, name: <ChatName chat={each} />, used: each })),
            ...(shown.deleted.turns > 0 ? [{ key: "", name: words.deleted, used: shown.deleted }] : []),
          ]} />
          <Sums title={words.beside} first={words.work} rows={shown.beside.map((each) => ({
            key: each.purpose, name: (words.purposes as Readonly<Record<string, string>>)[each.purpose] ?? each.purpose, used: each,
          }))} />
        </>
      )}
      <Limits limits={shown.limits} />
      {shown.since !== undefined && <p className="faint"><small>{words.since(monthText(shown.since, locale))}</small></p>}
    </>
  );
}

function Figure({ name, value }: { readonly name: string; readonly value: string }) {
  return <div><dt>{name}</dt><dd>{value}</dd></div>;
}

function ChatName({ chat }: { readonly chat: api.SessionUsed }) {
  const words = useWords(table);
  if (!chat.is_own) return words.otherChat;
  return <a href={hashOf({ ...NEW_CHAT, session: chat.session_id })} dir="auto">{chat.title ?? words.untitled}</a>;
}

// A bar for each day, as high as its cost; where none is known, as its tokens.
function Days({ month, days, locale }: { readonly month: string; readonly days: readonly api.DayUsed[]; readonly locale: string }) {
  const words = useWords(table);
  const known = new Map(days.map((each) => [each.day, each]));
  const hasCost = days.some(({ cost = 0 }) => cost > 0);
  const height = (each: api.DayUsed) => hasCost ? each.cost ?? 0 : each.input_tokens + each.output_tokens;
  const most = Math.max(...days.map(height));
  const name = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", timeZone: "UTC" });
  return (
    <>
      <div className="usage-days" aria-hidden="true">
        {daysOf(month).map((day) => {
          const each = known.get(day);
          const text = each ? `${name.format(new Date(`${day}T00:00:00Z`))}: ${costText(each, words, money)}` : undefined;
          return <span key={day} title={text}><i style={{ blockSize: each ? `max(2px, ${extent(height(each), most)})` : 0 }} /></span>;
        })}
      </div>
      <details>
        <summary>{words.byDay}</summary>
        <Sums first={words.day} label={words.byDay} rows={days.map((each) => ({ key: each.day, name: name.format(new Date(`${each.day}T00:00:00Z`)), used: each }))} />
      </details>
    </>
  );
}

interface SumsProps {
  readonly title?: string;
  readonly label?: string;
  readonly first: string;
  readonly rows: readonly { readonly key: string; readonly name: ReactNode; readonly used: api.UsedReply }[];
}

export function Sums({ title, label = title, first, rows }: SumsProps) {
  const words = useWords(table);
  if (rows.length === 0) return null;
  return (
    <>
      {title !== undefined && <h2>{title}</h2>}
      <div className="table-scroll usage-table" tabIndex={0} role="region" aria-label={label}>
        <table>
          <thead>
            <tr><th scope="col">{first}</th><th scope="col">{words.answers}</th><th scope="col">{words.read}</th><th scope="col">{words.written}</th><th scope="col">{words.cost}</th></tr>
          </thead>
          <tbody>
            {rows.map(({ key, name, used }) => (
              <tr key={key}>
                <th scope="row">{name}</th>
                <td>{used.turns > 0 ? count(used.turns) : "–"}</td><td>{count(used.input_tokens)}</td><td>{count(used.output_tokens)}</td>
                <td>{costText(used, words, money)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

export function Limits({ limits }: { readonly limits: readonly api.LimitReply[] }) {
  const words = useWords(table);
  const time = useTime();
  if (limits.length === 0) return null;
  const figure = ({ unit }: api.LimitReply, value: number) => unit === "dollars" ? money(value) : count(value);
  return (
    <>
      <h2>{words.limits}</h2>
      <div className="table-scroll usage-table" tabIndex={0} role="region" aria-label={words.limits}>
        <table>
          <thead><tr><th scope="col">{words.limit}</th><th scope="col">{words.left}</th><th scope="col">{words.of}</th><th scope="col">{words.resets}</th></tr></thead>
          <tbody>
            {limits.map((limit) => (
              <tr key={limit.policy}>
                <th scope="row"><code>{limit.policy}</code></th>
                <td>{figure(limit, limit.left)}</td><td>{figure(limit, limit.limit)}</td><td>{limit.resets_at === undefined ? "–" : time(limit.resets_at)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
