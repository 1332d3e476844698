/** A formula: as it was written until it is set, or where it cannot be. */

import { createElement, memo, type ReactNode, useEffect, useState } from "react";
import "./copy-as-tex";
import type { Figure, FigureChild } from "./figure";
import { TextCache, WorkerQueue } from "./worker-queue";

interface Asked {
  source: string;
  isBlock: boolean;
}

const MAX_LENGTH = 4_000; // characters of a formula
const MAX_CACHED = 100_000; // characters

const setter = new WorkerQueue<Asked, Figure>(
  () => new Worker(new URL("./math.worker.ts", import.meta.url), { type: "module" }),
  async ({ source, isBlock }) => (await import("./math")).formula(source, isBlock),
);
const chemist = new WorkerQueue<Asked, Figure>(
  () => new Worker(new URL("./chemistry.worker.ts", import.meta.url), { type: "module" }),
  async ({ source, isBlock }) => (await import("./chemistry")).formula(source, isBlock),
);
const CHEMISTRY = /\\(?:ce|pu)\b/; // another 30 kB, for those who write it
const LONG = 20; // characters of a formula in a line that may be wider than the page

const known = new TextCache<Figure | null>(MAX_CACHED);

export const Formula = memo(function Formula({ source, isBlock }: Asked) {
  const [, setAnswer] = useState<Figure | null>(null);
  const key = `${isBlock ? "$$" : "$"}${source}`;
  const figure = known.get(key);
  const isWanted = figure === undefined && source.length <= MAX_LENGTH;
  useEffect(() => {
    if (!isWanted) return;
    void (CHEMISTRY.test(source) ? chemist : setter).do({ source, isBlock }).then((answer) => {
      known.set(key, answer);
      setAnswer(answer);
    });
  }, [isWanted, key, source, isBlock]);
  if (figure !== undefined && figure !== null) {
    const drawn = draw(figure, 0);
    return isBlock ? <div className="formula" data-tex={source} tabIndex={0} role="group" dir="ltr">{drawn}</div>
      : <span className={source.length > LONG ? "math long" : "math"} data-tex={source} dir="ltr">{drawn}</span>;
  }
  return isBlock
    ? <pre className="formula" dir="ltr" aria-busy={isWanted || undefined}>{source}</pre>
    : <code dir="ltr" aria-busy={isWanted || undefined}>{source}</code>;
});

function draw(figure: FigureChild, key: number): ReactNode {
  if (typeof figure === "string") return figure;
  return createElement(figure.tag, { key, ...figure.attributes }, ...figure.children.map(draw));
}
