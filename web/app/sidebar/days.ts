// The chats under the headings of a list: those pinned, then a heading for each day of the last week, then for each month.

export interface Dated {
  readonly id: string;
  /** Unix milliseconds. */
  readonly updated_at: number;
  readonly pinned?: boolean;
}

export interface Group<T> {
  /** `pinned`, a day (`2026-11-23`) or a month (`2026-10`). */
  readonly key: string;
  readonly heading: string;
  readonly chats: readonly T[];
}

export interface Calendar {
  /** BCP 47. */
  readonly language: string;
  /** IANA name; absent: that of the browser. */
  readonly timeZone?: string;
  readonly now: number;
  /** The headings that are there most often, as words: the first format of `Intl` costs some 20 ms. */
  readonly words: { readonly pinned: string; readonly today: string; readonly yesterday: string };
}

const DAY_MS = 86_400_000;
const WEEK = 7;

// `chats` come newest first, and stay in that order within each heading.
export function byDay<T extends Dated>(chats: readonly T[], { language, timeZone, now, words }: Calendar): Group<T>[] {
  const dayOf = days(timeZone);
  // A clock that is slow does not put what was just said into the future.
  const today = Math.max(dayOf(now), ...chats.slice(0, 1).map((chat) => dayOf(chat.updated_at)));
  const headingOf = headings(language, today, words);
  const groups = new Map<string, { key: string; heading: string; chats: T[] }>();
  const put = (key: string, heading: () => string, chat: T) => {
    const group = groups.get(key) ?? { key, heading: heading(), chats: [] };
    group.chats.push(chat);
    groups.set(key, group);
  };
  for (const chat of chats) if (chat.pinned === true) put("pinned", () => words.pinned, chat);
  for (const chat of chats) {
    if (chat.pinned === true) continue;
    const day = Math.min(today, dayOf(chat.updated_at));
    const date = new Date(day * DAY_MS).toISOString();
    put(today - day < WEEK ? date.slice(0, 10) : date.slice(0, 7), () => headingOf(day), chat);
  }
  return [...groups.values()];
}

// Times to days of a calendar, counted from 1970-01-01 of the reader's time zone.
function days(timeZone: string | undefined): (at: number) => number {
  if (timeZone === undefined) {
    return (at) => {
      const date = new Date(at);
      return Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) / DAY_MS;
    };
  }
  const parts = new Intl.DateTimeFormat("en-US", { timeZone, year: "numeric", month: "numeric", day: "numeric" });
  return (at) => {
    const [month = 1, day = 1, year = 1970] = parts.format(at).split("/").map(Number);
    return Date.UTC(year, month - 1, day) / DAY_MS;
  };
}

function headings(language: string, today: number, words: Calendar["words"]): (day: number) => string {
  const format = (parts: Intl.DateTimeFormatOptions, at: Date) => new Intl.DateTimeFormat(language, { ...parts, timeZone: "UTC" }).format(at);
  const thisYear = new Date(today * DAY_MS).getUTCFullYear();
  return (day) => {
    const at = new Date(day * DAY_MS);
    if (today - day < 2) return today === day ? words.today : words.yesterday;
    if (today - day < WEEK) return format({ weekday: "long" }, at);
    return format(at.getUTCFullYear() === thisYear ? { month: "long" } : { month: "long", year: "numeric" }, at);
  };
}
