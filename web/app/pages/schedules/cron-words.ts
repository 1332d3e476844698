// Cron expressions in words, as far as words are plain; and those that the form's choices make.

import type { Language } from "../../language";
import { localeOf } from "../locale-formats";
import type { words as table } from "./schedule-words";

type Words = (typeof table)[Language]["cronWords"];

/** What a person chooses; `days` are those of the week, 0 is Sunday; `day` of the month, "L" the last one. */
export type Choice =
  | { readonly when: "daily" | "weekdays"; readonly time: string }
  | { readonly when: "weekly"; readonly time: string; readonly days: readonly number[] }
  | { readonly when: "monthly"; readonly time: string; readonly day: string };

// null: something is missing still.
export function cronOf(choice: Choice): string | null {
  const time = /^(\d{1,2}):(\d{2})/.exec(choice.time);
  if (time === null) return null;
  const at = `${Number(time[2])} ${Number(time[1])}`;
  switch (choice.when) {
    case "daily": return `${at} * * *`;
    case "weekdays": return `${at} * * 1-5`;
    case "weekly": return choice.days.length === 0 ? null : `${at} * * ${[...choice.days].sort((one, other) => one - other).join(",")}`;
    case "monthly": return `${at} ${choice.day} * *`;
  }
}

// The expression in words; null where there are no plain ones.
export function inPlainWords(cron: string, words: Words, language: Language): string | null {
  const [minute = "", hour = "", day = "", month = "", weekday = "", ...more] = cron.trim().toUpperCase().split(/\s+/);
  if (more.length > 0) return null;
  const isAnyDay = day === "*" && month === "*" && weekday === "*";
  if (isAnyDay && hour === "*") {
    if (minute === "*") return words.everyMinute;
    const step = stepOf(minute);
    if (step !== null) return words.everyMinutes(step);
    const at = numbersOf(minute, 0, 59);
    return at?.length === 1 ? words.everyHour(twoDigits(at[0] ?? 0)) : null;
  }
  const minutes = numbersOf(minute, 0, 59);
  if (minutes?.length !== 1) return null;
  const step = stepOf(hour);
  if (isAnyDay && step !== null) return minutes[0] === 0 ? words.everyHours(step) : null;
  const hours = numbersOf(hour, 0, 23);
  if (hours === null) return null;
  const times = listed(hours.map((each) => timeText(each, minutes[0] ?? 0, language)), language);
  if (isAnyDay) return words.everyDay(times);
  if (day === "*" && month === "*") return onDaysOfTheWeek(weekday, times, words, language);
  if (weekday !== "*") return null; // on either of two days: nothing that is said in a few words
  if (month === "*" && day === "L") return words.lastOfMonth(times);
  const days = numbersOf(day, 1, 31);
  if (days === null) return null;
  if (month === "*") return words.everyMonth(listed(days.map(words.dayOfMonth), language), times);
  const months = numbersOf(month, 1, 12, MONTHS);
  if (months?.length !== 1 || days.length !== 1) return null;
  const date = new Intl.DateTimeFormat(localeOf(language), { month: "long", day: "numeric", timeZone: "UTC" });
  return words.everyYear(date.format(Date.UTC(2024, (months[0] ?? 1) - 1, days[0])), times);
}

const WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const MONTHS = ["", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

function onDaysOfTheWeek(given: string, times: string, words: Words, language: Language): string | null {
  const found = numbersOf(given, 0, 7, WEEKDAYS);
  if (found === null) return null;
  const days = [...new Set(found.map((each) => each % 7))].sort((one, other) => (one + 6) % 7 - (other + 6) % 7); // from Monday on
  if (days.length === 7) return words.everyDay(times);
  if (days.join(",") === "1,2,3,4,5") return words.everyWeekday(times);
  return words.everyWeek(listed(days.map((each) => weekdayName(each, language)), language), times);
}

// "1,3-5" as the numbers that it means; null: it is no such list.
function numbersOf(text: string, least: number, most: number, names: readonly string[] = []): number[] | null {
  const found: number[] = [];
  for (const part of text.split(",")) {
    const [, from = "", to = from] = /^([A-Z]{3}|\d{1,2})(?:-([A-Z]{3}|\d{1,2}))?$/.exec(part) ?? [];
    const [first, last] = [from, to].map((each) => /^\d/.test(each) ? Number(each) : names.indexOf(each));
    if (from === "" || first === undefined || last === undefined || first < least || last > most || first > last) return null;
    for (let each = first; each <= last; each += 1) found.push(each);
  }
  return [...new Set(found)].sort((one, other) => one - other);
}

const stepOf = (text: string): number | null => {
  const step = Number(/^\*\/(\d{1,2})$/.exec(text)?.[1]);
  return step > 0 ? step : null;
};

const twoDigits = (value: number): string => String(value).padStart(2, "0");

// The 7th of January 2024 was a Sunday.
export const weekdayName = (day: number, language: Language): string =>
  new Intl.DateTimeFormat(localeOf(language), { weekday: language === "en" ? "long" : "short", timeZone: "UTC" }).format(Date.UTC(2024, 0, 7 + day));

const timeText = (hour: number, minute: number, language: Language): string =>
  new Intl.DateTimeFormat(localeOf(language), { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: "UTC" }).format(Date.UTC(2024, 0, 7, hour, minute));

const listed = (parts: readonly string[], language: Language): string => new Intl.ListFormat(localeOf(language), { type: "conjunction" }).format(parts);
