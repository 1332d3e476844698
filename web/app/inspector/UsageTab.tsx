// Tokens by class and cost: of each call of a turn, of the turn, and of the session.

import type { api, Event, EventPage } from "@chat-gateway/client";
import { useEffect, useMemo, useState } from "react";

import { client, useApp, useWords } from "../state";
import { cost, count, money } from "./numbers";
import { callsOf, CLASSES, type CallSpent, NOTHING_SPENT, type Spent, spentBy, spentInSession, spentOf, totalOf } from "./usage";
import { words as table } from "./inspector-words";

export interface UsageTabProps {
  /** null: of a recording, all of which is known. */
  readonly session: string | null;
  readonly ofTurn: readonly Event[];
}

export function UsageTab({ session, ofTurn }: UsageTabProps) {
  const words = useWords(table);
  const calls = useMemo(() => callsOf(ofTurn), [ofTurn]);
  const turn = useMemo(() => spentOf(ofTurn), [ofTurn]);
  const events = useApp((state) => state.events);
  const first = useApp((state) => state.conversation.first);
  const { older, state, countAll } = useOlder(session, first);
  const used = useUsage(session, ofTurn.some(({ type }) => type === "done"));
  const known = useMemo(() => spentInSession(events), [events]);
  const all = useMemo(() => spentInSession([...older ?? [], ...[...events].filter((event) => !older || event.seq >= first)]), [older, events, first]);
  const isPart = first > 1 && older === null;
  const total = isPart ? known : all;
  const unreported = turn.unreported + (total === turn ? 0 : total.unreported);
  return (
    <>
      <div className="wide" tabIndex={0} role="region" aria-label={words.perCall}>
        <table className="usage">
          <caption className="unseen">{words.perCall}</caption>
          <thead>
            <tr>
              <th scope="col">{words.call}</th>
              {CLASSES.map((each) => <th key={each} scope="col">{words.classes[each]}</th>)}
              <th scope="col">{words.total}</th>
              <th scope="col">{words.fields.cost}</th>
            </tr>
          </thead>
          <tbody>
            {calls.map((call) => <CallLine key={call.key} call={call} />)}
          </tbody>
          <tfoot>
            <SumLine name={words.ofTurn} spent={turn} />
            <SumLine name={words.ofSession} spent={total} />
            {used && <SumLine name={words.ofReader} spent={spentBy(used.models)} />}
          </tfoot>
        </table>
      </div>
      {unreported > 0 && <p className="warn">{words.unreported(count(unreported))}</p>}
      {isPart && (
        <p className="quiet" role="status">
          {state === "failed" ? words.failed : words.partOnly}{" "}
          {state === "loading" ? words.loading : <button type="button" className="small" onClick={countAll}>{words.countAll}</button>}
        </p>
      )}
      {used && used.limits.length > 0 && <Limits limits={used.limits} />}
    </>
  );
}

/** What the operator's limits leave the reader. */
function Limits({ limits }: { readonly limits: readonly api.LimitReply[] }) {
  const words = useWords(table);
  const figure = (limit: api.LimitReply, value: number) => limit.unit === "dollars" ? money(value) : count(value);
  return (
    <div className="wide" tabIndex={0} role="region" aria-label={words.limits}>
      <table className="usage">
        <caption>{words.limits}</caption>
        <thead>
          <tr>
            <th scope="col">{words.limit}</th>
            <th scope="col">{words.left}</th>
            <th scope="col">{words.of}</th>
            <th scope="col">{words.resets}</th>
          </tr>
        </thead>
        <tbody>
          {limits.map((limit) => (
            <tr key={limit.policy}>
              <th scope="row">{limit.policy}</th>
              <td>{figure(limit, limit.left)}</td>
              <td>{figure(limit, limit.limit)}</td>
              <td>{limit.resets_at === undefined ? "–" : new Date(limit.resets_at).toLocaleString()}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function CallLine({ call }: { readonly call: CallSpent }) {
  const words = useWords(table);
  const spent: Spent = {
    ...NOTHING_SPENT, calls: 1, cost: call.cost ?? 0, unpriced: call.cost === undefined ? 1 : 0,
  };
  const blank = call.open ? "…" : words.unknown;
  return (
    <tr data-superseded={call.superseded}>
      <th scope="row">
        {call.iteration}{call.attempt > 1 && ` · ${words.attempt(String(call.attempt))}`}
        {" "}<span className="quiet">{call.superseded ? words.superseded : call.model}</span>
      </th>
      {CLASSES.map((each) => <td key={each}>{call.tokens ? count(call.tokens[each]) : blank}</td>)}
      <td>{call.tokens ? count(totalOf(call.tokens)) : blank}</td>
      <td>{call.open ? "…" : cost(spent, words)}</td>
    </tr>
  );
}

function SumLine({ name, spent }: { readonly name: string; readonly spent: Spent }) {
  const words = useWords(table);
  const isUnknown = spent.unreported > 0 && totalOf(spent.tokens) === 0;
  const figure = (value: number) => isUnknown ? words.unknown : count(value);
  return (
    <tr>
      <th scope="row">{name}</th>
      {CLASSES.map((each) => <td key={each}>{figure(spent.tokens[each])}</td>)}
      <td>{figure(totalOf(spent.tokens))}</td>
      <td>{cost(spent, words)}</td>
    </tr>
  );
}

/** What all of the reader's turns of the last month used, and what limits leave; asked for anew when a turn is over. */
function useUsage(session: string | null, isOver: boolean): api.UsageReply | null {
  const [used, setUsed] = useState<api.UsageReply | null>(null);
  useEffect(() => {
    if (session === null) return;
    const ending = new AbortController();
    client.usage({ days: 30 }, { signal: ending.signal }).then(setUsed, () => undefined); // the other sums are there without
    return () => ending.abort();
  }, [session, isOver]);
  return session === null ? null : used;
}

/** The ends of the turns before the events that are known: few, however long the session is. */
function useOlder(session: string | null, first: number) {
  const [older, setOlder] = useState<readonly Event[] | null>(null);
  const [state, setState] = useState<"idle" | "loading" | "failed">("idle");
  const countAll = async () => {
    if (session === null) return;
    setState("loading");
    try {
      const found: Event[] = [];
      let after = 0;
      for (;;) {
        const page: EventPage = await client.events(session, { after, limit: 1000, types: "done,compression" });
        found.push(...page.events.filter((event) => event.seq < first));
        if (page.next === undefined || page.next >= first) break;
        after = page.next;
      }
      setOlder(found);
      setState("idle");
    } catch {
      setState("failed");
    }
  };
  return { older, state, countAll: () => void countAll() };
}
