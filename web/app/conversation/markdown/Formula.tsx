/** A formula: as it was written until it is set, or where it cannot be. */

import { createElement, memo, type ReactNode, useEffect, useState } from "react";
import "./copy-as-tex";
import type { Figure, FigureChild } from "./figure";
import { type AskedFormula, chemist, setter } from "./queues";
import { TextCache } from "./worker-queue";

const MAX_LENGTH = 4_000; // characters of a formula
const MAX_CACHED = 100_000; // characters

const CHEMISTRY = /\\(?:ce|pu)\b/; // another 30 kB, for those who write it
const LONG = 20; // characters of a formula in a line that may be wider than the page

const known = new TextCache<Figure | null>(MAX_CACHED);

export const Formula = memo(function Formula({ source, isBlock }: AskedFormula) {
  const [, setAnswer] = useState<Figure | null>();
  const key = `${isBlock ? "$$" : "$"}${source}`;
  const queue = CHEMISTRY.test(source) ? chemist : setter;
  const { now } = queue;
  const isShort = source.length <= MAX_LENGTH;
  const figure = known.getOrMake(key, now && isShort ? () => now({ source, isBlock }) : undefined);
  const isWanted = figure === undefined && isShort;
  useEffect(() => {
    if (!isWanted) return;
    void queue.do({ source, isBlock }).then((answer) => {
      known.set(key, answer);
      setAnswer(answer);
    });
  }, [isWanted, queue, key, source, isBlock]);
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
