// The axis of a waterfall: moments as shares of its width, without the time in which all waited for somebody.

import type { Timeline } from "./timeline";

export interface Axis {
  /** Milliseconds that are drawn, and that are left out. */
  readonly length: number;
  readonly leftOut: number;
  /** 0 to 1. */
  readonly place: (moment: number) => number;
}

type Range = readonly [from: number, to: number];

const WAITS = new Set(["queued", "deciding"]);

/** `withoutWaits`: leaves out the time in which a message waited in the queue, or a person was asked, and nothing else
 * went on. */
export function axisOf({ from, to, rows }: Timeline, withoutWaits: boolean): Axis {
  const segments = rows.flatMap((row) => row.segments);
  const waits = merged(segments.filter(({ kind }) => WAITS.has(kind)).map(({ from: begin, to: end }) => [begin, end]));
  const works = merged(segments.filter(({ kind }) => !WAITS.has(kind)).map(({ from: begin, to: end }) => [begin, end]));
  const idle = waits.flatMap((wait) => without(wait, works));
  const leftOut = idle.reduce((sum, [begin, end]) => sum + end - begin, 0);
  const skipped = withoutWaits ? idle : [];
  const length = Math.max(1, to - from - (withoutWaits ? leftOut : 0));
  return {
    length, leftOut,
    place: (moment) => {
      const before = skipped.reduce((sum, [begin, end]) => sum + Math.max(0, Math.min(moment, end) - begin), 0);
      return Math.min(1, Math.max(0, (moment - from - before) / length));
    },
  };
}

function merged(ranges: readonly Range[]): Range[] {
  const found: [number, number][] = [];
  for (const [from, to] of [...ranges].sort((one, other) => one[0] - other[0])) {
    const last = found.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else if (to > from) found.push([from, to]);
  }
  return found;
}

function without([from, to]: Range, taken: readonly Range[]): Range[] {
  const left: Range[] = [];
  let begin = from;
  for (const [start, end] of taken) {
    if (end <= begin || start >= to) continue;
    if (start > begin) left.push([begin, start]);
    begin = Math.max(begin, end);
  }
  if (begin < to) left.push([begin, to]);
  return left;
}
