// Numbers as the inspector writes them.

import type { Spent } from "./usage";

/** 340 ms, 1.25 s, 3:20 min. */
export function duration(milliseconds: number): string {
  const ms = Math.max(0, Math.round(milliseconds));
  if (ms < 1000) return `${ms} ms`;
  if (ms < 59_995) return `${(ms / 1000).toFixed(ms < 9995 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000), minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60);
  const two = (part: number) => String(part).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes % 60)}:${two(seconds % 60)} h` : `${minutes}:${two(seconds % 60)} min`;
}

export function count(value: number): string {
  return value.toLocaleString("en-US");
}

export function share(part: number, whole: number): string {
  return whole > 0 ? `${Math.round(part / whole * 100)} %` : "0 %";
}

/** As CSS has it. */
export function extent(part: number, whole: number): string {
  return `${whole > 0 ? Math.min(100, part / whole * 100) : 0}%`;
}

/** $1.25, $0.0031: at least two digits that are not 0. */
export function money(dollars: number): string {
  if (dollars === 0) return "$0";
  const digits = dollars >= 1 ? 2 : Math.min(8, Math.max(2, 1 - Math.floor(Math.log10(dollars))));
  return `$${dollars.toFixed(digits)}`;
}

/** A cost that is not known is never 0. */
export function cost({ cost: known, unpriced, calls }: Spent, words: { readonly unknown: string; readonly atLeast: (cost: string) => string }): string {
  if (unpriced === 0) return calls === 0 ? "–" : money(known);
  return known > 0 ? words.atLeast(money(known)) : words.unknown;
}

/** A time of day where the reader is. */
export function clock(ts: number): string {
  const date = new Date(ts), two = (part: number) => String(part).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** JSON to be read, of at most so many characters. */
export function pretty(value: unknown, most = 20_000): string {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
