/** In the place of the page's workers, which a page of one file has not: whatever is asked is there at once, so that all of a chat can be printed. */

import { parse } from "../app/conversation/markdown/parse";
import type { Queue } from "../app/conversation/markdown/queues";
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

export const parser = atOnce(({ source, context }: { source: string; context: string }) => parse(source, context));
export const setter = atOnce(formulaOf);
export const chemist = setter;
export const painter = atOnce(coloursOf);
