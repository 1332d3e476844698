// When a schedule is due, in the reader's words: times by the clocks of its time zone.

import type { api } from "@chat-gateway/client";

import { useLanguage } from "../../settings";
import { useWords } from "../../state";
import { localeOf } from "../locale-formats";
import { inPlainWords } from "./cron-words";
import { words as table } from "./schedule-words";

type Timing = Pick<api.ScheduleReply, "at" | "every" | "cron" | "timezone">;

export const UNITS = { minutes: 60, hours: 3600, days: 86_400 } as const;
export type Unit = keyof typeof UNITS;

export function browserZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

// A function from Unix milliseconds to a date and time in `timezone`; in that of the browser where it does not know it.
export function useZonedTime(timezone: string): (at: number) => string {
  const language = useLanguage();
  const style = { weekday: "short", year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" } as const;
  const format = (zone: object) => new Intl.DateTimeFormat(localeOf(language), { ...style, ...zone });
  let shown: Intl.DateTimeFormat;
  try {
    shown = format({ timeZone: timezone });
  } catch {
    shown = format({});
  }
  return (at) => shown.format(at);
}

export function useTiming({ at, every, cron, timezone }: Timing): string {
  const words = useWords(table);
  const language = useLanguage();
  const time = useZonedTime(timezone);
  if (cron !== undefined) {
    const text = inPlainWords(cron, words.cronWords, language) ?? cron;
    return timezone === browserZone() ? text : words.inZone(text, timezone);
  }
  if (every === undefined) return words.once(at === undefined ? "" : time(at));
  const unit = (["days", "hours", "minutes"] as const).find((each) => every % UNITS[each] === 0);
  return unit === undefined ? words.everyText(every.toLocaleString()) : words.everyUnits[unit](every / UNITS[unit]);
}
