// An answer: everything of a turn that came after its question, in the order in which it happened.

import { answer, type Attempt, type Part, type Turn } from "@chat-gateway/client";
import { memo, useState } from "react";

import { client, useApp } from "../state";
import { ActionButton, Trouble } from "./ActionButton";
import { ArtifactCard } from "./ArtifactCard";
import { CallView, SkillLine, WarningNote } from "./CallView";
import { CompressionCard } from "./CompressionCard";
import { CopyButton } from "./CopyButton";
import { Feedback } from "./Feedback";
import { useSpeech } from "./format";
import { Markdown } from "./markdown/Markdown";
import { MemoryCard } from "./MemoryCard";
import { openTurnId, useOpenTurnId } from "./running";
import { OutcomeLine } from "./OutcomeLine";
import { RetrievalView } from "./RetrievalView";
import { UnknownView } from "./UnknownView";

interface Props {
  readonly session: string;
  readonly turn: Turn;
}

export function AnswerView({ session, turn }: Props) {
  const speech = useSpeech();
  const { words } = speech;
  const { parts, attempts, outcome, state } = turn;
  const isOver = outcome !== undefined;
  const isReplay = useApp(({ replay }) => replay !== null);
  const last = parts.at(-1);
  const isWriting = last !== undefined && (last.kind === "text" || last.kind === "thinking") && last.open;
  return (
    <div className="answer" aria-label={words.answer} role="group" aria-busy={!isOver}>
      {parts.map((part) => <PartView key={part.seq} session={session} turn={turn.id} part={part} isOver={isOver} />)}
      {attempts.filter((each) => each.state === "superseded").map((each) => <Withdrawn key={each.seq} attempt={each} />)}
      {state === "running" && !turn.isOperation && !isWriting && <p className="waiting">{words.waiting}</p>}
      {turn.error && <Failure session={session} turn={turn} />}
      {outcome && <OutcomeLine turn={turn} outcome={outcome} />}
      {isOver && (
        <div className="actions">
          {parts.some(({ kind }) => kind === "text") && <CopyButton text={() => answer(turn)} label={words.copyAnswer} />}
          {!isReplay && <Feedback session={session} turn={turn} />}
        </div>
      )}
    </div>
  );
}

interface PartProps {
  readonly session: string;
  readonly turn: string;
  readonly part: Part;
  readonly isOver: boolean;
}

const PartView = memo(function PartView({ session, turn, part, isOver }: PartProps) {
  switch (part.kind) {
    case "text": return <div className={part.open && !isOver ? "prose growing" : "prose"}><Markdown text={part.text} /></div>;
    case "thinking": return <Thinking text={part.text} isRunning={part.open && !isOver} />;
    case "call": return <CallView session={session} turn={turn} call={part.call} isOver={isOver} />;
    case "retrieval": return <RetrievalView data={part.data} />;
    case "memory": return <MemoryCard data={part.data} />;
    case "artifact": return <ArtifactCard artifact={part.data} />;
    case "skill": return <SkillLine skill={part.data} />;
    case "warning": return <WarningNote warning={part.data} />;
    case "compression": return <RunningCompression session={session} part={part} />;
    case "unknown": return <UnknownView event={part.event} />;
  }
});

function RunningCompression({ session, part }: { readonly session: string; readonly part: Extract<Part, { kind: "compression" }> }) {
  const isRunning = useApp(({ conversation }) => conversation.compressing === part.seq);
  // One made by hand may end in a later turn, which tells it then.
  return part.data.phase === "started" && !isRunning ? null : <CompressionCard session={session} data={part.data} isRunning={isRunning} />;
}

function Thinking({ text, isRunning }: { readonly text: string; readonly isRunning: boolean }) {
  const { words } = useSpeech();
  const [isOpen, setOpen] = useState(false);
  return (
    <details className={isRunning ? "step thinking running" : "step thinking"} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary><b>{words.thinking}</b></summary>
      {isOpen && <div className="prose"><Markdown text={text} /></div>}
    </details>
  );
}

function Withdrawn({ attempt: { attempt, reason = "" } }: { readonly attempt: Attempt }) {
  const { words, fill } = useSpeech();
  return <p className="withdrawn">{fill(words.withdrawn, { attempt, reason: words.codes[reason] ?? reason.replaceAll("_", " ") })}</p>;
}

function Failure({ session, turn }: Props) {
  const speech = useSpeech();
  const { words } = speech;
  const isFree = useOpenTurnId() === undefined;
  const [trouble, setTrouble] = useState<unknown>(null);
  const { code, message, retryable } = turn.error ?? { code: "", message: "", retryable: false };
  const inWords = words.codes[code];
  return (
    <div className="note error">
      {inWords !== undefined && <>{inWords}{"。 "}</>}
      <span dir="auto">{message}</span>
      {retryable && (
        <>
          {/[.!?。！？]$/.test(message) ? " " : ". "}{words.mayHelp}{" "}
          <ActionButton disabled={!isFree} onTrouble={setTrouble} act={() => askAnew(session, turn)}>{words.again}</ActionButton>
        </>
      )}
      <Trouble>{trouble !== null && speech.problem(trouble)}</Trouble>
    </div>
  );
}

// Asks a message anew, unless a turn runs.
export async function askAnew(session: string, turn: Turn): Promise<void> {
  if (openTurnId() === undefined) await client.regenerate(session, turn.id);
}
