// A schedule: what it sends and when, a switch, and what became of its last times.

import type { api } from "@chat-gateway/client";
import { CalendarClock, Play } from "lucide-react";
import { useCallback, useEffect, useState } from "react";

import { hashOf, NEW_CHAT } from "../../page-address";
import { useIsDeveloper } from "../../settings";
import { client, useWords } from "../../state";
import type { PageStatus } from "../page-status";
import { SwitchCard } from "../SwitchCard";
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
  const [isOpen, setOpen] = useState(false);
  const [ran, setRan] = useState(0);
  const { id, name, message, status, due_at: due, reason, session_id: session, timezone, destination } = schedule;
  const timing = useTiming(schedule);
  const time = useZonedTime(timezone);
  const isActive = status === "active";
  const turn = () => void attempt(async () => {
    onChanged(await client.changeSchedule(id, isActive ? "paused" : "active"));
    return undefined;
  });
  const run = () => void attempt(async () => {
    onChanged(await client.runSchedule(id));
    setRan((times) => times + 1);
    setOpen(true);
    return words.running(name);
  });
  const why = reason !== undefined && ((words.reasons as Readonly<Record<string, string>>)[reason] ?? reason);
  const state = isActive && due !== undefined ? words.next(time(due)) : words.states[status];
  const facts = (
    <>
      {[timing, state, why, destination !== undefined && words.destination(destination)].filter(Boolean).join(" · ")}
      {session !== undefined && <> · <a href={hashOf({ ...NEW_CHAT, session })} aria-label={words.actionOf(words.inChat, name)}>{words.inChat}</a></>}
    </>
  );
  return (
    <SwitchCard icon={<CalendarClock aria-hidden="true" />} name={name} facts={facts} actionOf={words.actionOf} attempt={attempt}
      content={message !== name && <p className="content" dir="auto">{message}</p>}
      toggle={status === "ended" ? undefined : { isOn: isActive, label: words.isActive(name), act: turn }}
      action={{ text: words.run, icon: <Play aria-hidden="true" />, act: run }}
      details={{ text: words.details, isOpen, onToggle: () => setOpen(!isOpen) }}
      deletion={{ act: () => client.deleteSchedule(id), missing: "schedule_not_found", told: words.deleted(name), onGone: () => onGone(id) }}>
      <Runs key={`${ran}-${due ?? ""}-${status}`} schedule={schedule} isAwaited={ran > 0} attempt={attempt} />
    </SwitchCard>
  );
}

type RunsProps = Pick<Props, "schedule" | "attempt"> & { readonly isAwaited: boolean };

function Runs({ schedule: { id, timezone, due_at: due, cron }, isAwaited, attempt }: RunsProps) {
  const words = useWords(table);
  const isDeveloper = useIsDeveloper();
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
      {isDeveloper && cron !== undefined && <p className="faint">{words.cron} <code dir="ltr">{cron}</code></p>}
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
