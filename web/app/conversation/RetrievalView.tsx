// What was looked up: sources with what they say, and memories with why they were told.

import type { Omission, Retrieval, RetrievalHit } from "@chat-gateway/client";

import { useSettings } from "../settings";
import { type Speech, useSpeech } from "./speech";
import { Markdown } from "./markdown/Markdown";
import { noteInWords } from "./recall-notes";

const MARKDOWN = /\.(?:md|markdown)$/i; // names of documents whose passages are Markdown

export function RetrievalView({ data }: { readonly data: Retrieval }) {
  return data.source === "memory" ? <Recalled data={data} /> : <Sources data={data} />;
}

function Sources({ data: { query, source, results, omitted, degraded } }: { readonly data: Retrieval }) {
  const speech = useSpeech();
  const { words, fill } = speech;
  const isAll = useSettings(({ detail }) => detail === "all");
  return (
    <details className="step found" open={isAll}>
      <summary><b>{source}</b> <span dir="auto">{fill(words.quoted, { text: query })}</span> <i>{speech.counted("source", results.length)}</i></summary>
      <ul>
        {results.map((hit, at) => (
          <li key={`${hit.id}-${at}`} dir="auto">
            <strong>{hit.title ?? hit.source}</strong> {MARKDOWN.test(hit.source) ? <div className="prose"><Markdown text={hit.snippet} /></div> : hit.snippet}
          </li>
        ))}
      </ul>
      {omitted !== undefined && omitted > 0 && <p>{fill(words.more, { count: omitted })}</p>}
      {degraded && <p>{words.degraded}</p>}
    </details>
  );
}

function Recalled({ data }: { readonly data: Retrieval }) {
  const { query, results, mode, notes = [], omitted = 0, omissions = [], degraded } = data;
  const speech = useSpeech();
  const { words, fill } = speech;
  const isAll = useSettings(({ detail }) => detail === "all");
  const standing = mode === "snapshot";
  const count = `${results.length}${standing && omitted > 0 ? "+" : ""}`; // of many, an event tells the first
  const why = [mode === undefined || mode === "snapshot" ? "" : words.recallModes[mode], ...notes.map(noteInWords)].filter(Boolean).join(" · ");
  const left = [omitted > 0 ? fill(words.notUsed, { count: omitted }) : "", ...reasonsOf(omissions, speech)].filter(Boolean).join(" · ");
  return (
    <details className="step found recalled" open={isAll}>
      <summary title={standing ? undefined : query}>
        <b>{words.memory}</b> <i>{fill(standing ? words.standing : words.lookedUp, { count })}</i>
      </summary>
      <ul>
        {results.map((hit, at) => <li key={`${hit.id}-${at}`} dir="auto">{hit.snippet} <small>{factsOf(hit, speech)}</small></li>)}
      </ul>
      {[why, left, degraded ? words.degraded : ""].filter(Boolean).map((line) => <p key={line}>{line}</p>)}
    </details>
  );
}

function factsOf(hit: RetrievalHit, { words, fill }: Speech): string {
  const { type, importance, told, lexical_rank: byWords, vector_rank: byMeaning, freshness } = hit;
  return [
    type === undefined ? "" : (words.memoryTypes as Record<string, string>)[type] ?? type,
    importance === undefined ? "" : fill(words.importance, { importance }),
    told === undefined ? "" : words.told[told],
    byWords === undefined ? "" : fill(words.byWords, { rank: byWords }),
    byMeaning === undefined ? "" : fill(words.byMeaning, { rank: byMeaning }),
    freshness === undefined ? "" : fill(words.fresh, { share: Math.round(freshness * 100) }),
  ].filter(Boolean).join(" · ");
}

function reasonsOf(omissions: readonly Omission[], { words, fill }: Speech): string[] {
  const counted = (reason: string) => omissions.filter((each) => each.reason === reason).length;
  return ([[counted("budget"), words.tooMuch], [counted("similar"), words.tooAlike], [counted("too_long"), words.tooLong]] as const)
    .filter(([count]) => count > 0).map(([count, text]) => fill(text, { count }));
}
