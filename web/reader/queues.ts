/** In the place of the page's workers, which a page of one file has not: whatever is asked is there at once, so that all of a chat can be printed. */

import { parse } from "../app/conversation/markdown/parse";
import type { AskedBlock, Queue } from "../app/conversation/markdown/queues";
import { coloursOf, formulaOf } from "./parts";

export type * from "../app/conversation/markdown/queues";

function atOnce<Ask, Answer>(work: (ask: Ask) => Answer | null): Queue<Ask, Answer> {
  const now = (ask: Ask): Answer | null => {
    try {
      return work(ask);
    } catch {
      return null; // what cannot be read is shown as it was written
    }
  };
  return { now, do: (ask) => Promise.resolve(now(ask)), isBusy: false };
}

// Marks that may pair with each other, of a paragraph or a row: what they cost grows with the square of their number, and
// nothing stops a parser that works in the page itself. These are seconds.
const MOST_MARKS = 20_000;
const marksOf = (text: string): number => text.match(/[*_~[\]]/g)?.length ?? 0;
const isHeavy = (source: string): boolean => source.length > MOST_MARKS && source.split(/\n[ \t]*\n|\n(?=[ \t>]*\|)/).some((part) => marksOf(part) > MOST_MARKS);

export const parser = atOnce(({ source, context }: AskedBlock) => isHeavy(source) ? null : parse(source, context));
export const setter = atOnce(formulaOf);
export const chemist = setter;
export const painter = atOnce(coloursOf);
