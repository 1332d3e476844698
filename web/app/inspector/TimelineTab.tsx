// The waterfall of a turn: a row for each thing that took time, with its details below it.

import { type Event, isKnown } from "@chat-gateway/client";
import { useMemo, useState } from "react";

import { useWords } from "../state";
import { type Axis, axisOf } from "./axis";
import { count, duration } from "./numbers";
import { RowDetail } from "./RowDetail";
import { type Row, timelineOf } from "./timeline";
import { TraceLine } from "./TraceLine";
import { words as table } from "./inspector-words";

const PAGE = 200; // rows that are drawn at first, and more of them each time
const WORTH_IT = 500; // milliseconds of waiting that anybody would leave out
const MUCH = 0.3; // of a turn: so much waiting is left out unless the reader wants to see it

export function TimelineTab({ events }: { readonly events: readonly Event[] }) {
  const words = useWords(table);
  const timeline = useMemo(() => timelineOf(events), [events]);
  const rated = events.findLast((event) => isKnown(event) && event.type === "feedback")?.data;
  const whole = useMemo(() => axisOf(timeline, false), [timeline]);
  const [wanted, setWanted] = useState<boolean | null>(null);
  const withoutWaits = wanted ?? whole.leftOut > whole.length * MUCH;
  const axis = useMemo(() => withoutWaits ? axisOf(timeline, true) : whole, [timeline, whole, withoutWaits]);
  const [most, setMost] = useState(PAGE);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (key: string) => setOpen((before) => {
    const after = new Set(before);
    if (!after.delete(key)) after.add(key);
    return after;
  });

  if (events.length === 0) return <p className="quiet">{words.noTurn}</p>;
  return (
    <>
      {timeline.traceId !== undefined && <TraceLine id={timeline.traceId} url={timeline.traceUrl} />}
      {rated && rated.rating !== "none" && (
        <p><span className="quiet">{words.rated}</span> {words.ratings[rated.rating]}{rated.reason !== undefined && <span dir="auto">: {rated.reason}</span>}</p>
      )}
      {whole.leftOut >= WORTH_IT && (
        <label className="check">
          <input type="checkbox" checked={withoutWaits} onChange={() => setWanted(!withoutWaits)} />
          {withoutWaits ? words.leftOut(duration(whole.leftOut)) : words.withoutWaits}
        </label>
      )}
      <ol className="waterfall" aria-label={words.rows}>
        {timeline.rows.slice(0, most).map((row) => (
          <li key={row.key} data-kind={row.kind} data-depth={row.depth}>
            <Bar row={row} axis={axis} zero={timeline.from} isOpen={open.has(row.key)} onToggle={() => toggle(row.key)} />
            {open.has(row.key) && <RowDetail row={row} />}
          </li>
        ))}
      </ol>
      {timeline.rows.length > most && (
        <p><button type="button" className="small" onClick={() => setMost(most + PAGE)}>{words.more(count(timeline.rows.length - most))}</button></p>
      )}
    </>
  );
}

interface BarProps {
  readonly row: Row;
  readonly axis: Axis;
  readonly zero: number;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function Bar({ row, axis, zero, isOpen, onToggle }: BarProps) {
  const words = useWords(table);
  const name = nameOf(row, words);
  const took = row.from === row.to && !row.open ? "" : duration(row.to - row.from);
  const spoken = [stateOf(row, words), `${words.startsAt} ${duration(row.from - zero)}`, row.open ? words.running : took && words.took].filter(Boolean).join(", ");
  return (
    <button type="button" className="bar" aria-expanded={isOpen} data-state={stateNameOf(row)} onClick={onToggle}>
      <span className="bar-name" title={name}>{name}</span>
      <span className="unseen">, {spoken} </span>
      <span className="bar-track" aria-hidden="true">
        {row.segments.map(({ kind, from, to }, place) => {
          const start = axis.place(from), end = axis.place(to);
          return (
            <span key={place} className={`segment ${kind}`} title={`${words.segments[kind]}${words.colon}${duration(to - from)}`}
              style={{ insetInlineStart: `${start * 100}%`, width: `${(end - start) * 100}%` }} />
          );
        })}
        {row.segments.length === 0 && <span className="mark" style={{ insetInlineStart: `calc((100% - 3px) * ${axis.place(row.from)})` }} />}
      </span>
      <span className="bar-took">{row.open ? "…" : took}</span>
    </button>
  );
}

type Words = (typeof table)["en"];

/** What a newer server may say besides stays as it is. */
const inWords = (known: Readonly<Record<string, string>>, name: string): string => known[name] ?? name;

function nameOf(row: Row, words: Words): string {
  switch (row.kind) {
    case "model": return `${words.kinds.model} ${row.iteration}${row.attempt > 1 ? ` · ${words.attempt(String(row.attempt))}` : ""}`;
    case "tool": return row.name;
    case "step": return row.step.step_name;
    case "retrieval": return `${words.kinds.retrieval}${words.colon}${row.data.source}`;
    case "mark": return inWords(words.marks, row.event.type);
    default: return words.kinds[row.kind];
  }
}

/** What went wrong, or is special: for its colour. */
function stateNameOf(row: Row): string | undefined {
  switch (row.kind) {
    case "model": return row.state;
    case "tool": return row.result?.status;
    case "approval": return row.response?.decision;
    case "step": return row.step.error === undefined ? undefined : "error";
    case "compression": return row.data.phase;
    case "mark": return row.event.type;
    default: return undefined;
  }
}

function stateOf(row: Row, words: Words): string {
  if (row.kind === "model" && (row.state === "superseded" || row.state === "cut")) return words[row.state];
  return row.kind === "model" || row.kind === "mark" ? "" : inWords(words.states, stateNameOf(row) ?? "");
}
