// Messages that are sent at set times: a form for a new one, and each with its switch and its last runs.

import type { api } from "@chat-gateway/client";
import { Plus, RefreshCw } from "lucide-react";
import { useCallback, useEffect, useState } from "react";

import { client, useWords } from "../state";
import { ScheduleCard } from "./schedules/ScheduleCard";
import { ScheduleForm } from "./schedules/ScheduleForm";
import { words as table } from "./schedules/schedule-words";
import { usePageStatus } from "./page-status";
import { StatusLine } from "./StatusLine";
import { words as pageWords } from "./page-words";
import "./pages.css";

export default function SchedulesPage() {
  const words = useWords(table);
  const { refresh } = useWords(pageWords);
  const { status, report, attempt } = usePageStatus();
  const [list, setList] = useState<readonly api.ScheduleReply[] | null>(null);
  const [isAdding, setAdding] = useState(false);
  const show = useCallback(() => attempt(async () => {
    setList((await client.schedules()).schedules);
    return undefined;
  }), [attempt]);
  useEffect(() => void show(), [show]);
  const add = async (body: api.ScheduleBody) => {
    let name = "";
    const isDone = await attempt(async () => {
      ({ name } = await client.createSchedule(body));
      return undefined;
    });
    if (!isDone) return;
    setAdding(false);
    await show();
    report(words.created(name));
  };
  const changed = (schedule: api.ScheduleReply) =>
    setList((known) => known?.map((each) => each.id === schedule.id ? schedule : each) ?? null);
  return (
    <section className="page">
      <p className="faint">{words.hint}</p>
      <div className="page-bar">
        <button type="button" className="small" onClick={() => setAdding(!isAdding)} aria-expanded={isAdding}><Plus aria-hidden="true" />{words.add}</button>
        <button type="button" className="small" onClick={() => void show()}><RefreshCw aria-hidden="true" />{refresh}</button>
      </div>
      <StatusLine status={status} />
      {isAdding && <ScheduleForm onDone={add} onCancel={() => setAdding(false)} />}
      <ul className="cards" aria-busy={list === null}>
        {list?.map((schedule) => (
          <ScheduleCard key={schedule.id} schedule={schedule} attempt={attempt} onChanged={changed}
            onGone={(id) => setList((known) => known?.filter((each) => each.id !== id) ?? null)} />
        ))}
        {list?.length === 0 && <li className="empty">{words.none}</li>}
      </ul>
    </section>
  );
}
