// Months as the server names them: 2026-11.

/** The month so many months behind (or before) another. */
export function monthBeside(month: string, by: number): string {
  const at = Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1 + by;
  return `${String(Math.floor(at / 12)).padStart(4, "0")}-${String(at % 12 + 1).padStart(2, "0")}`;
}

/** November 2026. */
export function monthText(month: string, locale: string): string {
  return new Intl.DateTimeFormat(locale, { month: "long", year: "numeric", timeZone: "UTC" }).format(new Date(`${month}-01T00:00:00Z`));
}

/** Its days, those in between that have nothing too. */
export function daysOf(month: string): readonly string[] {
  const count = new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0)).getUTCDate();
  return Array.from({ length: count }, (_, day) => `${month}-${String(day + 1).padStart(2, "0")}`);
}

/** The zone of this browser. */
export function ownZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}

interface Priced {
  readonly cost?: number;
  readonly unpriced: number;
}

/** A cost that is not known is never 0. `money` writes dollars. */
export function costText({ cost, unpriced }: Priced, words: { readonly unknown: string; readonly atLeast: (cost: string) => string }, money: (dollars: number) => string): string {
  if (cost === undefined) return words.unknown;
  return unpriced > 0 ? words.atLeast(money(cost)) : money(cost);
}
