/** A code with its language, a button that copies it, and colours when they are there. */

import { memo, type ReactNode, useEffect, useState } from "react";
import { kindOfCode, preview, useCanPreview } from "../../preview/previewed";
import { words as previewTable } from "../../preview/preview-words";
import { useWords } from "../../state";
import { words as table } from "../conversation-words";
import { CopyButton } from "../../CopyButton";
import { LongText } from "../LongText";
import type { FigureChild } from "./figure";
import { type AskedCode, painter } from "./queues";
import { TextCache } from "./worker-queue";

const MAX_LENGTH = 20_000; // characters that are coloured: each part is an element
const MAX_PARTS = 3_000;
const PAUSE_MS = 250; // without growth, before a code is coloured
const MAX_CACHED = 500_000; // characters

const known = new TextCache<FigureChild[] | null>(MAX_CACHED);

interface Props extends AskedCode {
  /** What else stands behind the language, as a file's name. */
  more?: string;
}

export const CodeBlock = memo(function CodeBlock({ code, language, more = "" }: Props) {
  const words = useWords(table);
  const highlighting = useHighlighting(code, language.toLowerCase());
  return (
    <div className="code">
      <div className="code-head">
        <span className="language" dir="ltr">{more === "" ? language : `${language} ${more}`}</span>
        <span className="code-actions">
          <PreviewButton code={code} language={language} name={more} />
          <CopyButton text={() => code} label={words.copyCode} />
        </span>
      </div>
      <pre tabIndex={0} dir="ltr"><code>{highlighting === null ? <LongText text={code} grows /> : highlighting.map(draw)}</code></pre>
    </div>
  );
});

/** Shows what can be looked at beside the conversation. */
function PreviewButton({ code, language, name }: { code: string; language: string; name: string }) {
  const words = useWords(previewTable);
  const kind = kindOfCode(language, code);
  if (!useCanPreview() || kind === undefined) return null;
  const called = name.trim() || words.kinds[kind];
  return (
    <button type="button" className="small" aria-label={words.previewOf(called)} onClick={() => preview({ kind, name: called, text: code })}>{words.preview}</button>
  );
}

function useHighlighting(code: string, language: string): FigureChild[] | null {
  const [, setPainted] = useState<FigureChild[] | null>(null);
  const key = `${language}\0${code}`;
  const isShort = language !== "" && code.length <= MAX_LENGTH;
  const { now } = painter;
  const highlighting = known.getOrMake(key, now && isShort ? () => withinBounds(now({ code, language })) : undefined);
  const isWanted = highlighting === undefined && isShort;
  useEffect(() => {
    if (!isWanted) return undefined;
    const timer = setTimeout(() => {
      void painter.do({ code, language }).then((answer) => {
        const painted = withinBounds(answer);
        known.set(key, painted);
        setPainted(painted);
      });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [isWanted, key, code, language]);
  return highlighting ?? null;
}

function withinBounds(painted: FigureChild[] | null): FigureChild[] | null {
  return painted !== null && partsOf(painted) <= MAX_PARTS ? painted : null;
}

function partsOf(children: readonly FigureChild[]): number {
  return children.reduce<number>((count, child) => count + 1 + (typeof child === "string" ? 0 : partsOf(child.children)), 0);
}

function draw(part: FigureChild, key: number): ReactNode {
  return typeof part === "string" ? part : <span key={key} className={part.className}>{part.children.map(draw)}</span>;
}
