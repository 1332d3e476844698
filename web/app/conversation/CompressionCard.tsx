// Older messages that were archived: how that went, and the summary that the model is sent in their place.

import type { Compression } from "@chat-gateway/client";
import { useState } from "react";

import { useUndone } from "../compressions";
import { saveFile } from "../downloads";
import { client } from "../state";
import { ActionButton, Trouble } from "./ActionButton";
import { type Speech, useSpeech } from "./speech";

interface Props {
  readonly session: string;
  readonly data: Compression;
  readonly isRunning: boolean;
}

export function CompressionCard({ session, data, isRunning }: Props) {
  const speech = useSpeech();
  const { phase, version } = data;
  return (
    <div className={`note compression${isRunning ? " running" : ""}${phase === "failed" ? " trouble" : ""}`}>
      <span>{describe(data, speech)}</span>
      {phase === "completed" && version !== undefined && <Summary session={session} version={version} />}
    </div>
  );
}

function describe({ phase, covers, tokens_before: before, tokens_after: after, reason = "", without_model: alone }: Compression, speech: Speech): string {
  const { words, fill } = speech;
  if (phase === "started") return words.compressing;
  if (phase === "completed") {
    return [
      covers ? fill(words.archivedRange, { first: covers.first, last: covers.last }) : words.compressed,
      before && after ? fill(words.fewerTokens, { before: speech.number(before), after: speech.number(after) }) : "",
      alone ? words.withoutModel : "",
    ].filter(Boolean).join(words.comma);
  }
  const [, code = "", message = reason] = /^(\w+): ([^]*)$/.exec(reason) ?? [];
  return `${words.notCompressed} ${speech.problem({ code, message })}`;
}

type Sections = Readonly<Record<string, unknown>>;

function Summary({ session, version }: { readonly session: string; readonly version: number }) {
  const speech = useSpeech();
  const { words } = speech;
  const [summary, setSummary] = useState<Sections | null>(null);
  const [isShown, setShown] = useState(false);
  const [trouble, setTrouble] = useState<unknown>(null);
  const isUndone = useUndone(session, version);
  const show = async () => {
    if (summary === null) setSummary((await client.compression(session, version)).summary);
    setShown(!isShown);
  };
  return (
    <>
      {isUndone && <span>{words.summaryUndone}</span>}
      <span className="choices">
        <ActionButton act={show} onTrouble={setTrouble} expanded={isShown}>{words.showSummary}</ActionButton>
        <ActionButton onTrouble={setTrouble}
          act={async () => saveFile(await client.compressionArchive(session, version), `${session}-${version}.jsonl.gz`)}>{words.originals}</ActionButton>
      </span>
      <Trouble>{trouble !== null && speech.problem(trouble)}</Trouble>
      {isShown && summary !== null && (
        <div className="summary">
          {!isUndone && <p>{words.summaryShown}</p>}
          {Object.entries(summary).map(([name, said]) => <Section key={name} name={name} said={said} />)}
        </div>
      )}
    </>
  );
}

function Section({ name, said }: { readonly name: string; readonly said: unknown }) {
  const lines = (Array.isArray(said) ? said : [said]).map((each) => typeof each === "string" ? each : JSON.stringify(each)).filter(Boolean);
  if (lines.length === 0) return null;
  return (
    <>
      <h4>{name.replaceAll("_", " ")}</h4>
      <ul>{lines.map((line, at) => <li key={at} dir="auto">{line}</li>)}</ul>
    </>
  );
}
