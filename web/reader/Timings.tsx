// When each thing of a turn happened, and what was said by attempts that do not count: of a replay.

import { type Event, isKnown, type Turn } from "@chat-gateway/client";
import { useMemo, useState } from "react";

import { TimelineTab } from "../app/inspector/TimelineTab";
import { useWords } from "../app/state";
import { words as table } from "./reader-words";
import "../app/inspector/inspector.css";

interface Props {
  readonly turn: Turn;
  /** Of all turns. */
  readonly events: readonly Event[];
}

export function Timings({ turn, events }: Props) {
  const words = useWords(table);
  const [isOpen, setOpen] = useState(false);
  const own = useMemo(() => events.filter(({ turn_id: id }) => id === turn.id), [events, turn.id]);
  const withdrawn = useMemo(() => withdrawnOf(own), [own]);
  return (
    <>
      {withdrawn.map(({ attempt, text }) => (
        <details key={attempt} className="step withdrawn-text">
          <summary>{words.withdrawn(attempt)}</summary>
          <del dir="auto">{text}</del>
        </details>
      ))}
      <details className="step timings" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{words.timings}</summary>
        {isOpen && <div><TimelineTab events={own} /></div>}
      </details>
    </>
  );
}

// What each attempt had said that was made anew.
function withdrawnOf(events: readonly Event[]): { readonly attempt: number; readonly text: string }[] {
  const found: { attempt: number; text: string }[] = [];
  let said = "";
  for (const event of events) {
    if (!isKnown(event)) continue;
    if (event.type === "iteration_start") said = "";
    else if (event.type === "text") said += event.data.text;
    else if (event.type === "iteration_superseded" && said !== "") found.push({ attempt: found.length + 1, text: said });
  }
  return found;
}
