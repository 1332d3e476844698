// What happened in the session on the screen, turn by turn: its events are in the page's state.

import { isOperation } from "@chat-gateway/client";
import { X } from "lucide-react";
import { type KeyboardEvent, useDeferredValue, useId, useMemo, useState } from "react";

import { useApp, useWords } from "../state";
import { EventsTab } from "./EventsTab";
import { PromptTab } from "./PromptTab";
import { ReplayTab } from "./ReplayTab";
import { TimelineTab } from "./TimelineTab";
import { eventsOf } from "./turn-events";
import { UsageTab } from "./UsageTab";
import { words as table } from "./inspector-words";
import "./inspector.css";

export interface InspectorProps {
  /** null: a recording is played that is no session's. */
  readonly session: string | null;
  readonly onClose: () => void;
}

const TABS = ["timeline", "prompt", "usage", "events", "replay"] as const;
type Tab = (typeof TABS)[number];

const OFFERED = 100; // turns

export function Inspector({ session, onClose }: InspectorProps) {
  const words = useWords(table);
  const id = useId();
  // Drawn after the conversation, in a frame of its own: there is much of both where a chat is long.
  const conversation = useDeferredValue(useApp((state) => state.conversation));
  const events = useDeferredValue(useApp((state) => state.events));
  const isReplay = useApp((state) => state.replay !== null);
  const [tab, setTab] = useState<Tab>(isReplay ? "replay" : "timeline");
  const turns = useMemo(() => conversation.path.filter((id) => !isOperation(id)), [conversation.path]); // the others asked no model
  const [turnId, chooseTurn] = useTurn(turns);
  const turn = turnId === null ? undefined : conversation.turns.get(turnId);
  const former = turnId === null ? undefined : turns[turns.lastIndexOf(turnId) - 1];
  const ofTurn = useMemo(() => eventsOf(events, turn), [events, turn]);
  const before = useMemo(() => eventsOf(events, former === undefined ? undefined : conversation.turns.get(former)), [events, conversation, former]);

  return (
    <section className="inspect">
      <header className="inspect-head">
        <h2>{words.title}</h2>
        {turns.length > 0 && (
          <label>
            <span className="unseen">{words.turn}</span>
            <select value={turnId ?? ""} onChange={(event) => chooseTurn(event.target.value)}>
              {offered(turns, turnId).map((place) => {
                const each = turns[place] ?? "";
                return <option key={each} value={each}>{`${place + 1}. ${shortened(conversation.turns.get(each)?.input ?? each)}`}</option>;
              })}
            </select>
          </label>
        )}
        <button type="button" className="icon" title={words.close} aria-label={words.close} onClick={onClose}><X /></button>
      </header>
      <Tabs id={id} chosen={tab} onChoose={setTab} />
      <div className="inspect-panel" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${tab}`} tabIndex={tab === "events" ? -1 : 0}>
        {tab === "timeline" && <TimelineTab key={turnId} events={ofTurn} />}
        {tab === "prompt" && <PromptTab key={turnId} session={isReplay ? null : session} turnId={turnId} events={ofTurn} before={before} />}
        {tab === "usage" && <UsageTab session={isReplay ? null : session} ofTurn={ofTurn} />}
        {tab === "events" && <EventsTab turnId={turnId} />}
        {tab === "replay" && <ReplayTab session={session} />}
      </div>
    </section>
  );
}

function Tabs({ id, chosen, onChoose }: { readonly id: string; readonly chosen: Tab; readonly onChoose: (tab: Tab) => void }) {
  const words = useWords(table);
  const pressed = (event: KeyboardEvent) => {
    const here = TABS.indexOf(chosen);
    const places: Readonly<Record<string, number>> = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: TABS.length - 1 };
    const next = TABS.at((places[event.key] ?? NaN) % TABS.length);
    if (places[event.key] === undefined || next === undefined) return;
    event.preventDefault();
    onChoose(next);
    document.getElementById(`${id}-${next}`)?.focus();
  };
  return (
    <div className="tabs" role="tablist" aria-label={words.title} onKeyDown={pressed}>
      {TABS.map((each) => (
        <button key={each} type="button" role="tab" id={`${id}-${each}`} aria-selected={each === chosen} aria-controls={`${id}-panel`}
          tabIndex={each === chosen ? 0 : -1} onClick={() => onChoose(each)}>{words.tabs[each]}</button>
      ))}
    </div>
  );
}

/** The places of the newest turns, and of the one that is looked at; a link in the conversation leads to older ones. */
function offered(turns: readonly string[], chosen: string | null): readonly number[] {
  const first = Math.max(0, turns.length - OFFERED);
  const newest = Array.from({ length: turns.length - first }, (_, at) => first + at);
  const place = chosen === null ? -1 : turns.lastIndexOf(chosen);
  return place < 0 || place >= first ? newest : [place, ...newest];
}

/** The turn that is looked at: the one of the address, or the one that was chosen since; else the newest, also when
 * a newer one comes. */
function useTurn(path: readonly string[]): [string | null, (turn: string) => void] {
  const address = useApp((state) => state.place.turn);
  const [choice, setChoice] = useState<{ readonly turn: string | null; readonly address: string | null }>({ turn: address, address });
  const wanted = choice.address === address ? choice.turn : address;
  const newest = path.at(-1) ?? null;
  const choose = (turn: string) => setChoice({ turn: turn === newest ? null : turn, address });
  return [wanted !== null && path.includes(wanted) ? wanted : newest, choose];
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}
