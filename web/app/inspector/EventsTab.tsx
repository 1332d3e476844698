// The raw log: every event that is known, by type and by words; older ones are loaded when one scrolls up to them.

import { type Event } from "@chat-gateway/client";
import { useCallback, useEffect, useId, useState, useSyncExternalStore } from "react";

import { loadOlder } from "../live";
import { useApp, useWords } from "../state";
import { CopyButton } from "../CopyButton";
import { type EventRow, gistOf, isPiece } from "./event-rows";
import { EventView, type Shown } from "./event-view";
import { clock, count } from "./numbers";
import { VirtualList } from "./VirtualList";
import { words as table } from "./inspector-words";

const SHOWN = 60_000; // characters of an event's JSON

export function EventsTab({ turnId }: { readonly turnId: string | null }) {
  const words = useWords(table);
  const id = useId();
  const events = useApp((state) => state.events);
  const hasOlder = useApp((state) => state.replay === null && state.conversation.first > 1);
  const [query, setQuery] = useState("");
  const [types, setTypes] = useState<ReadonlySet<string>>(new Set());
  const [onlyTurn, setOnlyTurn] = useState(false);
  const [chosen, setChosen] = useState<number | null>(null);
  const [view] = useState(() => new EventView());
  const shown = useSyncExternalStore(view.subscribe, view.get);

  useEffect(() => view.take(events), [view, events]);
  useEffect(() => view.choose({ types, query, turnId: onlyTurn ? turnId : null }), [view, types, query, onlyTurn, turnId]);
  useEffect(() => () => view.stop(), [view]);

  const keyOf = useCallback((place: number) => shown.rowAt(place)?.seq ?? 0, [shown]);
  const open = chosen === null ? undefined : shown.rowOf(chosen);
  const toggle = (type: string) => {
    const after = new Set(types);
    if (!after.delete(type)) after.add(type);
    setTypes(after);
  };

  return (
    <div className="events">
      <div className="events-filter" role="search" aria-label={words.search}>
        <input type="search" aria-label={words.search} placeholder={words.search} value={query} onChange={(event) => setQuery(event.target.value)} />
        <details className="menu">
          <summary>{types.size > 0 ? `${words.types} (${types.size})` : words.allTypes}</summary>
          <fieldset>
            <legend className="unseen">{words.types}</legend>
            {shown.types.map(([type, number]) => (
              <label key={type} className="check">
                <input type="checkbox" checked={types.has(type)} onChange={() => toggle(type)} />
                <code>{type}</code> <span className="quiet">{count(number)}</span>
              </label>
            ))}
          </fieldset>
        </details>
        <label className="check">
          <input type="checkbox" checked={onlyTurn} onChange={() => setOnlyTurn(!onlyTurn)} />{words.onlyTurn}
        </label>
      </div>
      <p className="quiet" role="status">
        {shown.share < 1 ? words.searching : words.found2(count(shown.count), count(shown.all))}
        {hasOlder && <>{" "}<button type="button" className="small" onClick={() => void loadOlder()}>{words.loadOlder}</button></>}
      </p>
      {shown.count === 0 && shown.share === 1 && events.length > 0 && <p className="quiet">{words.nothingFound}</p>}
      <VirtualList label={words.events} count={shown.count} keyOf={keyOf} chosen={chosen} onChoose={setChosen}
        onTop={hasOlder ? () => void loadOlder() : undefined}
        row={(place) => <Line row={shown.rowAt(place)} shown={shown} />} />
      <section className="events-detail" aria-labelledby={`${id}-detail`}>
        <h3 id={`${id}-detail`} className="unseen">{words.event}</h3>
        {open === undefined ? <p className="quiet">{words.choose}</p> : <Raw events={shown.eventsOf(open)} />}
      </section>
    </div>
  );
}

function Line({ row, shown }: { readonly row: EventRow | undefined; readonly shown: Shown }) {
  const words = useWords(table);
  if (!row) return null;
  const events = shown.eventsOf(row);
  const pieces = isPiece(row.type) && events.length > 1 ? `${words.pieces(count(events.length))} · ` : "";
  return (
    <>
      <span className="seq">{row.seq}</span>
      <span className="type" data-type={row.type}>{row.type}</span>
      <span className="gist">{pieces}{gistOf(row.type, events)}</span>
      <time>{clock(events[0]?.ts ?? 0)}</time>
    </>
  );
}

function Raw({ events }: { readonly events: readonly Event[] }) {
  const text = events.map((event) => JSON.stringify(event, null, 2)).join("\n");
  return (
    <>
      <CopyButton text={() => text} />
      <pre tabIndex={0}>{text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text}</pre>
    </>
  );
}
