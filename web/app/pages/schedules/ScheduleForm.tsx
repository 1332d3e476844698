// A form for a new schedule; it says when that would be due before it is made.

import type { api } from "@chat-gateway/client";
import { useEffect, useId, useState } from "react";

import { useIsDeveloper, useLanguage } from "../../settings";
import { chats } from "../../sidebar/chats";
import { words as chatWords } from "../../sidebar/sidebar-words";
import { client, useWords } from "../../state";
import { useStore } from "../../store";
import { inWords } from "../problems";
import { words as pageWords } from "../page-words";
import { cronOf, weekdayName } from "./cron-words";
import { browserZone, type Unit, UNITS, useZonedTime } from "./timing";
import { words as table } from "./schedule-words";

const TYPING_MS = 300;
const WHENS = ["daily", "weekdays", "weekly", "monthly", "at", "every", "cron"] as const;
const DAYS = [1, 2, 3, 4, 5, 6, 0]; // a week begins on Monday here
const DAYS_OF_MONTH = [...Array.from({ length: 28 }, (_, at) => String(at + 1)), "L"]; // those that each month has, and the last
type When = (typeof WHENS)[number];

interface Given {
  readonly when: When;
  readonly time: string;
  readonly days: readonly number[];
  readonly day: string;
  readonly at: string;
  readonly count: string;
  readonly unit: Unit;
  readonly cron: string;
  readonly timezone: string;
}

interface Props {
  readonly onDone: (body: api.ScheduleBody) => Promise<unknown>;
  readonly onCancel: () => void;
}

export function ScheduleForm({ onDone, onCancel }: Props) {
  const words = useWords(table);
  const { cancel } = useWords(pageWords);
  const { untitled } = useWords(chatWords);
  const known = useStore(chats.store, ({ chats: all }) => all);
  const [timing, setTiming] = useState<Given>({
    when: "daily", time: "08:00", days: [1], day: "1", at: "", count: "1", unit: "hours", cron: "0 8 * * *", timezone: browserZone(),
  });
  const isDeveloper = useIsDeveloper();
  const whens = WHENS.filter((each) => each !== "cron" || isDeveloper || timing.when === "cron");
  const [rest, setRest] = useState({ message: "", name: "", session: "", destination: "", late: "once" as NonNullable<api.ScheduleBody["late"]> });
  const [webhooks, setWebhooks] = useState<readonly api.WebhookReply[]>([]);
  useEffect(() => void client.webhooks().then(({ webhooks: found }) => setWebhooks(found), () => undefined), []);
  const [isBusy, setBusy] = useState(false);
  const id = useId();
  const change = (more: Partial<Given>) => setTiming({ ...timing, ...more });
  const timed = timingOf(timing);
  const submit = () => {
    if (timed === null) return;
    setBusy(true);
    const { message, name, session, destination, late } = rest;
    const where = { ...(session !== "" && { session_id: session }), ...(destination !== "" && { destination }) };
    void onDone({ ...timed, message, late, ...(name.trim() !== "" && { name }), ...where }).finally(() => setBusy(false));
  };
  return (
    <form className="card page-form schedule-form" aria-label={words.add} onSubmit={(event) => {
      event.preventDefault();
      submit();
    }}>
      <label>{words.message}
        <textarea rows={3} required autoFocus dir="auto" maxLength={16_000} placeholder={words.messageHint} value={rest.message}
          onChange={({ target }) => setRest({ ...rest, message: target.value })} />
      </label>
      <div className="fields">
        <label>{words.when}
          <select value={timing.when} onChange={({ target }) => change({ when: target.value as When })}>
            {whens.map((each) => <option key={each} value={each}>{words.whens[each]}</option>)}
          </select>
        </label>
        <Moment given={timing} onChange={change} />
        {timing.when === "every" && (
          <>
            <label>{words.every}<input type="number" min={1} max={100_000} required value={timing.count} onChange={({ target }) => change({ count: target.value })} /></label>
            <label>{words.unit}
              <select value={timing.unit} onChange={({ target }) => change({ unit: target.value as Unit })}>
                {(Object.keys(UNITS) as Unit[]).map((each) => <option key={each} value={each}>{words.units[each]}</option>)}
              </select>
            </label>
          </>
        )}
        {timing.when === "cron" && (
          <label>{words.cron}
            <input type="text" required maxLength={200} dir="ltr" className="cron" aria-describedby={`${id}-cron`} value={timing.cron}
              onChange={({ target }) => change({ cron: target.value })} />
          </label>
        )}
      </div>
      {timing.when === "cron" && <small id={`${id}-cron`}>{words.cronHint}</small>}
      <Upcoming timing={timed} />
      <div className="fields">
        <label>{words.where}
          <select value={rest.session} onChange={({ target }) => setRest({ ...rest, session: target.value })}>
            <option value="">{words.newChat}</option>
            {known.map(({ id: session, title }) => <option key={session} value={session}>{title ?? untitled}</option>)}
          </select>
        </label>
        <label>{words.name}<input type="text" maxLength={80} dir="auto" value={rest.name} onChange={({ target }) => setRest({ ...rest, name: target.value })} /></label>
      </div>
      <details>
        <summary>{words.more}</summary>
        <div className="fields">
          {timing.when !== "every" && (
            <label>{words.timezone}
              <input type="text" required maxLength={64} dir="ltr" list={`${id}-zones`} value={timing.timezone} onChange={({ target }) => change({ timezone: target.value })} />
            </label>
          )}
          {webhooks.length > 0 && (
            <label>{words.alsoTo}
              <select value={rest.destination} onChange={({ target }) => setRest({ ...rest, destination: target.value })}>
                <option value="">{words.nowhere}</option>
                {webhooks.map(({ id: webhook, url }) => <option key={webhook} value={`webhook:${webhook}`}>{url}</option>)}
              </select>
            </label>
          )}
          <label>{words.late}
            <select value={rest.late} onChange={({ target }) => setRest({ ...rest, late: target.value as typeof rest.late })}>
              {(["once", "skip", "all"] as const).map((each) => <option key={each} value={each}>{words.lates[each]}</option>)}
            </select>
          </label>
        </div>
      </details>
      <div className="buttons">
        <button type="submit" className="primary" disabled={isBusy}>{words.create}</button>
        <button type="button" className="small" onClick={onCancel}>{cancel}</button>
      </div>
      <datalist id={`${id}-zones`}>{Intl.supportedValuesOf("timeZone").map((zone) => <option key={zone} value={zone} />)}</datalist>
    </form>
  );
}

interface MomentProps {
  readonly given: Given;
  readonly onChange: (more: Partial<Given>) => void;
}

// At what time, and on which days.
function Moment({ given: { when, time, days, day, at }, onChange }: MomentProps) {
  const words = useWords(table);
  const language = useLanguage();
  if (when === "every" || when === "cron") return null;
  if (when === "at") return <label>{words.at}<input type="datetime-local" required value={at} onChange={({ target }) => onChange({ at: target.value })} /></label>;
  return (
    <>
      {when === "monthly" && (
        <label>{words.day}
          <select value={day} onChange={({ target }) => onChange({ day: target.value })}>
            {DAYS_OF_MONTH.map((each) => <option key={each} value={each}>{each === "L" ? words.lastDay : each}</option>)}
          </select>
        </label>
      )}
      <label>{words.time}<input type="time" required value={time} onChange={({ target }) => onChange({ time: target.value })} /></label>
      {when === "weekly" && (
        <fieldset className="weekdays">
          <legend>{words.days}</legend>
          {DAYS.map((each) => (
            <label key={each}>
              <input type="checkbox" required={days.length === 0} checked={days.includes(each)} onChange={({ target }) => onChange({ days: target.checked ? [...days, each] : days.filter((other) => other !== each) })} />
              {weekdayName(each, language)}
            </label>
          ))}
        </fieldset>
      )}
    </>
  );
}

// What is sent of it; null: something is missing still.
function timingOf({ when, time, days, day, at, count, unit, cron, timezone }: Given): api.TimingBody | null {
  if (when === "every") return Number(count) > 0 ? { every: Math.round(Number(count) * UNITS[unit]) } : null;
  const zone = timezone.trim();
  if (zone === "") return null;
  if (when === "at") return at === "" ? null : { at, timezone: zone };
  const expression = when === "cron" ? cron.trim() : cronOf({ when, time, days, day });
  return expression === null || expression === "" ? null : { cron: expression, timezone: zone };
}

function Upcoming({ timing }: { readonly timing: api.TimingBody | null }) {
  const words = useWords(table);
  const language = useLanguage();
  const [found, setFound] = useState<{ readonly of: string; readonly times: readonly number[]; readonly trouble: string } | null>(null);
  const time = useZonedTime(timing?.timezone ?? browserZone());
  const asked = JSON.stringify(timing);
  useEffect(() => {
    const body = JSON.parse(asked) as api.TimingBody | null;
    if (body === null) return;
    const ending = new AbortController();
    const set = (times: readonly number[], trouble: string) => {
      if (!ending.signal.aborted) setFound({ of: asked, times, trouble });
    };
    const typing = setTimeout(() => void client.previewSchedule(body, { signal: ending.signal }).then(
      ({ upcoming }) => set(upcoming, ""), (error: unknown) => set([], inWords(error as Error, language)),
    ), TYPING_MS);
    return () => {
      clearTimeout(typing);
      ending.abort();
    };
  }, [asked, language]);
  const isKnown = found !== null && found.of === asked;
  return (
    <div className="upcoming" aria-live="polite" aria-busy={timing !== null && !isKnown}>
      {isKnown && found.trouble !== "" && <p className="trouble">{found.trouble}</p>}
      {isKnown && found.times.length > 0 && (
        <>
          <b>{words.upcoming}</b>
          <ol>{found.times.map((at) => <li key={at}>{time(at)}</li>)}</ol>
        </>
      )}
    </div>
  );
}
