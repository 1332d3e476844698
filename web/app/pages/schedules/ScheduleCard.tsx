// A schedule: what it sends and when, a switch, and what became of its last times.

import type { api } from "@chat-gateway/client";
import { CalendarClock, Play, Trash2 } from "lucide-react";
import { useCallback, useEffect, useState } from "react";

import { hashOf, NEW_CHAT } from "../../place";
import { client, useWords } from "../../state";
import { codeOf } from "../problems";
import type { PageStatus } from "../page-status";
import { words as pageWords } from "../page-words";
import { useTiming, useZonedTime } from "./timing";
import { words as table } from "./schedule-words";

const AGAIN_MS = 2_000; // until a run that is under way is looked at again

interface Props {
  readonly schedule: api.ScheduleReply;
  readonly attempt: PageStatus["attempt"];
  readonly onChanged: (schedule: api.ScheduleReply) => void;
  readonly onGone: (id: string) => void;
}

export function ScheduleCard({ schedule, attempt, onChanged, onGone }: Props) {
  const words = useWords(table);
  const common = useWords(pageWords);
  const [isAsked, ask] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const [ran, setRan] = useState(0);
  const { id, name, message, status, due_at: due, reason, session_id: session, timezone, destination } = schedule;
  const timing = useTiming(schedule);
  const time = useZonedTime(timezone);
  const label = (action: string) => words.actionOf(action, name);
  const isActive = status === "active";
  const turn = () => attempt(async () => {
    onChanged(await client.changeSchedule(id, isActive ? "paused" : "active"));
    return undefined;
  });
  const run = () => attempt(async () => {
    onChanged(await client.runSchedule(id));
    setRan((times) => times + 1);
    setOpen(true);
    return words.running(name);
  });
  const remove = () => attempt(async () => {
    try {
      await client.deleteSchedule(id);
    } catch (error) {
      if (codeOf(error) !== "schedule_not_found") throw error; // it is gone already
    }
    onGone(id);
    return words.deleted(name);
  });
  const why = reason !== undefined && ((words.reasons as Readonly<Record<string, string>>)[reason] ?? reason);
  const state = isActive && due !== undefined ? words.next(time(due)) : words.states[status];
  return (
    <li className="card schedule-card">
      <div className="card-head">
        <CalendarClock aria-hidden="true" />
        <b className="name" dir="auto">{name}</b>
        <small>{[timing, state, why, destination !== undefined && words.destination(destination)].filter(Boolean).join(" · ")}
          {session !== undefined && <> · <a href={hashOf({ ...NEW_CHAT, session })} aria-label={label(words.inChat)}>{words.inChat}</a></>}</small>
        {status !== "ended" && <button type="button" role="switch" className="switch" aria-checked={isActive} aria-label={words.isActive(name)} onClick={() => void turn()} />}
      </div>
      {message !== name && <p className="content" dir="auto">{message}</p>}
      <div className="buttons">
        <button type="button" className="small" aria-expanded={isOpen} aria-label={label(words.details)} onClick={() => setOpen(!isOpen)}>{words.details}</button>
        <button type="button" className="small" aria-label={label(words.run)} onClick={() => void run()}><Play aria-hidden="true" />{words.run}</button>
        {isAsked ? (
          <>
            <button type="button" className="small dangerous" autoFocus aria-label={label(common.deleteNow)} onClick={() => void remove()}>{common.deleteNow}</button>
            <button type="button" className="small" onClick={() => ask(false)}>{common.cancel}</button>
          </>
        ) : (
          <button type="button" className="small" aria-label={label(common.delete)} onClick={() => ask(true)}><Trash2 aria-hidden="true" />{common.delete}</button>
        )}
      </div>
      {isOpen && <Runs key={`${ran}-${due ?? ""}-${status}`} schedule={schedule} isAwaited={ran > 0} attempt={attempt} />}
    </li>
  );
}

type RunsProps = Pick<Props, "schedule" | "attempt"> & { readonly isAwaited: boolean };

function Runs({ schedule: { id, timezone, due_at: due }, isAwaited, attempt }: RunsProps) {
  const words = useWords(table);
  const time = useZonedTime(timezone);
  const [details, setDetails] = useState<api.ScheduleDetails | null>(null);
  const read = useCallback(() => attempt(async () => {
    setDetails(await client.schedule(id));
    return undefined;
  }), [attempt, id]);
  useEffect(() => void read(), [read]);
  const newest = details?.runs[0];
  const isDue = isAwaited && details !== null && details.due_at === due && due !== undefined && newest?.due_at !== due;
  const goesOn = newest?.status === "started" || isDue;
  useEffect(() => {
    if (!goesOn) return;
    const again = setTimeout(() => void read(), AGAIN_MS);
    return () => clearTimeout(again);
  }, [goesOn, read, details]);
  if (details === null) return null;
  const { upcoming, runs } = details;
  return (
    <div className="about">
      <h2>{words.upcoming}</h2>
      {upcoming.length > 0 ? <ol>{upcoming.map((at) => <li key={at}>{time(at)}</li>)}</ol> : <p className="faint">{words.notDue}</p>}
      <h2>{words.details}</h2>
      {runs.length === 0 && <p className="faint">{words.noRuns}</p>}
      <ul>
        {runs.map(({ due_at: at, status, code, session_id: session, turn_id: turn }) => (
          <li key={at}>
            {time(at)}: {words.runStates[status]}{status === "refused" && code !== undefined && ` (${code})`}
            {session !== undefined && turn !== undefined && (
              <> · <a href={hashOf({ session, turn, page: null })} aria-label={words.actionOf(words.openTurn, time(at))}>{words.openTurn}</a></>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
