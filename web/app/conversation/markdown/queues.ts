/** Who reads Markdown, sets formulas and colours code for the page: workers. A page without any has `reader/queues.ts` in this place. */

import type { RootContent } from "mdast";
import type { Figure, FigureChild } from "./figure";
import { WorkerQueue } from "./worker-queue";

export interface Queue<Ask, Answer> {
  /** What came of `ask`; null where it cannot be done, or not in time. */
  do: (ask: Ask) => Promise<Answer | null>;
  /** The same at once, where nothing else has to be kept waiting for. */
  now?: (ask: Ask) => Answer | null;
  /** Whether an answer is still to come. */
  readonly isBusy: boolean;
}

export interface AskedBlock {
  source: string;
  /** Lines that it refers to. */
  context: string;
}

export interface AskedFormula {
  source: string;
  isBlock: boolean;
}

export interface AskedCode {
  code: string;
  language: string;
}

export const parser: Queue<AskedBlock, RootContent[]> = new WorkerQueue(
  () => new Worker(new URL("./parse.worker.ts", import.meta.url), { type: "module" }),
  async ({ source, context }) => (await import("./parse")).parse(source, context),
);

export const setter: Queue<AskedFormula, Figure> = new WorkerQueue(
  () => new Worker(new URL("./math.worker.ts", import.meta.url), { type: "module" }),
  async ({ source, isBlock }) => (await import("./math")).formula(source, isBlock),
);

export const chemist: Queue<AskedFormula, Figure> = new WorkerQueue(
  () => new Worker(new URL("./chemistry.worker.ts", import.meta.url), { type: "module" }),
  async ({ source, isBlock }) => (await import("./chemistry")).formula(source, isBlock),
);

export const painter: Queue<AskedCode, FigureChild[]> = new WorkerQueue(
  () => new Worker(new URL("./code-highlight.worker.ts", import.meta.url), { type: "module" }),
  async ({ code, language }) => (await import("./code-highlight")).highlighted(code, language),
);

/** Whether something that is on the page still waits for one of them. */
export const isReading = (): boolean => [parser, setter, chemist, painter].some(({ isBusy }) => isBusy);
