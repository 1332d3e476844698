// Tokens by class and cost: of each call of a turn, of the turn, and of the session.

import { type Event, type EventPage } from "@chat-gateway/client";
import { useEffect, useMemo, useState } from "react";

import { client, useApp, useWords } from "../state";
import { cost, count } from "./numbers";
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
  const mine = useMine(session, ofTurn.some(({ type }) => type === "done"));
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
            {mine && <SumLine name={words.ofReader} spent={mine} />}
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
    </>
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

/** What all of the reader's turns of the last month used; asked for anew when a turn is over. */
function useMine(session: string | null, isOver: boolean): Spent | null {
  const [mine, setMine] = useState<Spent | null>(null);
  useEffect(() => {
    if (session === null) return;
    const ending = new AbortController();
    client.usage({ days: 30 }, { signal: ending.signal }).then(({ models }) => setMine(spentBy(models)), () => undefined); // the other sums are there without
    return () => ending.abort();
  }, [session, isOver]);
  return session === null ? null : mine;
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
