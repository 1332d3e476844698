// Figures and failures in the words of the reader.

import { now } from "../clock";
import type { Language } from "../language";
import { languageNow, useLanguage } from "../settings";
import { useWords } from "../state";
import { duration } from "../inspector/numbers";
import { words as table } from "./conversation-words";

export type Words = (typeof table)[Language];

// `text` with each {name} replaced by its value.
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

// One of each for all that is drawn: making one takes longer than all of its figures.
const numberFormats = new Map<string, Intl.NumberFormat>();
const timeFormats = new Map<string, Intl.DateTimeFormat>();

function numbersIn(language: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = `${language} ${JSON.stringify(options)}`;
  const format = numberFormats.get(key) ?? new Intl.NumberFormat(language, options);
  numberFormats.set(key, format);
  return format;
}

function timesIn(language: string): Intl.DateTimeFormat {
  const format = timeFormats.get(language) ?? new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
  timeFormats.set(language, format);
  return format;
}

const dayFormats = new Map<string, Intl.RelativeTimeFormat>();
const clockFormats = new Map<string, Intl.DateTimeFormat>();

function daysIn(language: string): Intl.RelativeTimeFormat {
  const format = dayFormats.get(language) ?? new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  dayFormats.set(language, format);
  return format;
}

function clockIn(language: string): Intl.DateTimeFormat {
  const format = clockFormats.get(language) ?? new Intl.DateTimeFormat(language, { timeStyle: "short" });
  clockFormats.set(language, format);
  return format;
}

// The first of them take 20 ms: made while the page is idle, where the browser tells that, not with the first message.
export function prepareFormats(): void {
  if (!("requestIdleCallback" in window)) return;
  window.requestIdleCallback(() => {
    timesIn(languageNow());
    numbersIn(languageNow(), {});
  });
}

const UNITS = [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"]] as const;
const TIMES = [["day", 86_400], ["hour", 3600], ["minute", 60]] as const;

// The words, and how figures are written, in one language.
export class Speech {
  constructor(readonly words: Words, readonly language: Language) {}

  fill = fill;

  number = (value: number, options: Intl.NumberFormatOptions = {}): string => numbersIn(this.language, options).format(value);

  // "1 line", "52,301 lines".
  counted = (what: "line" | "byte" | "token" | "source" | "page", count: number): string =>
    fill(this.words[what][count === 1 ? "one" : "other"], { count: this.number(count) });

  // "2.0 MB"
  bytes(size: number): string {
    const found = UNITS.find(([least]) => size >= least);
    if (found === undefined) return this.counted("byte", size);
    const [unit, name] = found;
    return `${this.number(size / unit, { minimumFractionDigits: 1, maximumFractionDigits: 1 })} ${name}`;
  }

  // "52,301 lines / 2.0 MB"; without lines where it is no text.
  size({ size, lines }: { size: number; lines?: number | undefined }): string {
    return lines === undefined ? this.bytes(size) : `${this.counted("line", lines)} / ${this.bytes(size)}`;
  }

  // "2.9 s", "30:07 min"
  seconds(ms: number): string {
    if (ms >= 59_950) return duration(ms);
    return `${this.number(ms / 1000, { minimumFractionDigits: 1, maximumFractionDigits: 1 })} s`;
  }

  // "23 hours": the largest unit of which there are two.
  wait(seconds: number): string {
    const [unit, length] = TIMES.find(([, each]) => seconds >= 2 * each) ?? ["second", 1];
    return numbersIn(this.language, { style: "unit", unit, unitDisplay: "long" }).format(Math.round(seconds / length));
  }

  time(at: number): string {
    return timesIn(this.language).format(at);
  }

  // "today 14:02", "yesterday 14:02", "12 Nov 2026, 14:02": as the calendar of the reader has it.
  moment(at: number, today = now()): string {
    const days = Math.round((new Date(today).setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86_400_000);
    if (days < 0 || days > 1) return this.time(at);
    return `${daysIn(this.language).format(-days, "day")} ${clockIn(this.language).format(at)}`;
  }

  // What went wrong, for people: by the server's code where there are words for it, else as the server says it.
  problem(error: unknown): string {
    const { code = "", message = "" } = (error ?? {}) as { code?: string; message?: string };
    return (this.words.problems as Record<string, string>)[code] ?? message;
  }
}

export function useSpeech(): Speech {
  return new Speech(useWords(table), useLanguage());
}
