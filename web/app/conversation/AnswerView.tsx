// An answer: everything of a turn that came after its question, in the order in which it happened.

import { answer, type Attempt, calls, type Part, type Turn } from "@chat-gateway/client";
import { GitFork, RefreshCw } from "lucide-react";
import { memo, type ReactNode, useState } from "react";

import { modelNow } from "../caller";
import { type Detail, useSettings } from "../settings";
import { client, useApp } from "../state";
import { ActionButton, Trouble } from "./ActionButton";
import { ArtifactCard } from "./ArtifactCard";
import { CallView, SkillLine, WarningNote } from "./CallView";
import { CompressionCard } from "./CompressionCard";
import { CopyButton } from "../CopyButton";
import { Feedback } from "./Feedback";
import { fork } from "./fork";
import { send, useMessages } from "./outbox";
import { useSpeech } from "./speech";
import { LeftOut, MOST } from "./LeftOut";
import { MessageTime } from "./MessageTime";
import { Markdown } from "./markdown/Markdown";
import { MemoryCard } from "./MemoryCard";
import { openTurnId, useOpenTurnId } from "./running";
import { OutcomeLine } from "./OutcomeLine";
import { usePrinting } from "./printing";
import { RetrievalView } from "./RetrievalView";
import { ScheduleLine } from "./ScheduleLine";
import { may, useChat, useMayWrite } from "../sidebar/shared-chats";
import { passages, withoutThinking } from "./thinking";
import { UnknownView } from "./UnknownView";
import { Variants } from "./Variants";

interface Props {
  readonly session: string;
  readonly turn: Turn;
}

export function AnswerView({ session, turn }: Props) {
  const speech = useSpeech();
  const { words } = speech;
  const { parts, attempts, outcome, state } = turn;
  const isOver = outcome !== undefined;
  const mayWrite = useMayWrite(session);
  const [trouble, setTrouble] = useState<unknown>(null);
  const detail = useSettings((value) => value.detail);
  const last = parts.at(-1);
  const isWriting = last !== undefined && (last.kind === "text" || last.kind === "thinking") && last.open;
  const [wanted, setFirst] = useState(MOST / 2);
  const first = usePrinting() ? parts.length : wanted;
  const newest = Math.max(first, parts.length - MOST / 2);
  const between = parts.slice(first, newest);
  const goingOn = isOver ? [] : between.filter(isGoingOn);
  const left = between.length - goingOn.length;
  const draw = (some: readonly Part[]) => runsOf(some, detail, isOver).map((run) => (
    <Few key={run[0].seq} parts={run} isFolded={detail === "quiet" && isStep(run[0], isOver)} isOver={isOver}>
      {run.map((part) => <PartView key={part.seq} session={session} turn={turn.id} part={part} isOver={isOver} />)}
    </Few>
  ));
  const running = isOver ? "" : [...new Set(calls(turn).flatMap(({ state, name }) => state === "running" ? [name] : []))].join(words.comma);
  return (
    <div className="answer" aria-label={words.answer} role="group" aria-busy={!isOver}>
      {left <= 0 ? draw(parts) : [
        ...draw(parts.slice(0, first)),
        <LeftOut key="left" count={left} of={parts.length} onMore={(more) => setFirst(first + more)} />,
        ...draw([...goingOn, ...parts.slice(newest)]),
      ]}
      {(detail === "all" || (detail === "normal" && !isOver)) && attempts.filter((each) => each.state === "superseded").map((each) => <Withdrawn key={each.seq} attempt={each} />)}
      {state === "running" && !turn.isOperation && !isWriting && <p className="waiting">{running === "" ? waitOf(turn, speech) : speech.fill(words.running, { names: running })}</p>}
      {turn.error && <Failure session={session} turn={turn} />}
      {outcome && <OutcomeLine turn={turn} outcome={outcome} />}
      {mayWrite && isCut(turn) && <GoOn session={session} turn={turn} />}
      {isOver && (
        <div className="actions">
          {parts.some(({ kind }) => kind === "text") && <CopyButton text={() => withoutThinking(answer(turn))} label={words.copyAnswer} />}
          {mayWrite && turn.start !== undefined && turn.error?.retryable !== true && <Regenerate session={session} turn={turn} />}
          {turn.start !== undefined && <Fork session={session} turn={turn} onTrouble={setTrouble} />}
          <Variants session={session} turn={turn} below="answer" onTrouble={setTrouble} />
          <Trouble>{trouble !== null && speech.problem(trouble)}</Trouble>
          {mayWrite && <Feedback session={session} turn={turn} />}
          {!turn.start?.seeded && <MessageTime at={turn.endedAt ?? turn.startedAt} />}
        </div>
      )}
    </div>
  );
}

// Warnings that are over with the model call that follows; the line below the answer tells them until then.
const WAITS = new Set(["model_busy", "model_starting"]);

function waitOf({ parts, attempts }: Turn, { words, fill }: ReturnType<typeof useSpeech>): string {
  const last = parts.findLast((part) => part.kind === "warning" && WAITS.has(part.data.code));
  if (last?.kind !== "warning" || last.seq < (attempts.at(-1)?.seq ?? 0)) return words.waiting;
  const { code, before = 1 } = last.data;
  return code === "model_busy" ? fill(words.waitingInLine, { before }) : words.modelStarting;
}

// What runs, grows or waits for somebody.
function isGoingOn(part: Part): boolean {
  if (part.kind === "call") return part.call.result === undefined;
  if (part.kind === "compression") return part.data.phase === "started";
  return (part.kind === "text" || part.kind === "thinking") && part.open;
}

type Run = readonly [Part, ...Part[]];

const STEPS = new Set<Part["kind"]>(["thinking", "retrieval", "skill", "compression", "unknown"]);

// What a reader who wants few steps can do without: nothing of it waits for them, or is theirs to keep.
function isStep(part: Part, isOver: boolean): boolean {
  if (part.kind !== "call") return STEPS.has(part.kind);
  const waits = !isOver && (part.call.state === "awaiting_approval" || part.call.state === "awaiting_result");
  return !waits && part.call.parts.every(({ kind }) => STEPS.has(kind));
}

// Each part alone; for few steps those together that follow each other.
function runsOf(parts: readonly Part[], detail: Detail, isOver: boolean): readonly Run[] {
  const runs: [Part, ...Part[]][] = [];
  for (const part of parts) {
    const last = runs.at(-1);
    if (last && detail === "quiet" && isStep(last[0], isOver) && isStep(part, isOver)) last.push(part);
    else runs.push([part]);
  }
  return runs;
}

interface FewProps {
  readonly parts: Run;
  readonly isFolded: boolean;
  readonly isOver: boolean;
  readonly children: ReactNode;
}

function Few({ parts, isFolded, isOver, children }: FewProps) {
  const { words, fill } = useSpeech();
  const [isOpen, setOpen] = useState(false);
  if (!isFolded) return children;
  const running = isOver ? undefined : parts.findLast((part) => part.kind === "call" && part.call.state === "running");
  return (
    <details className={running ? "step few running" : "step few"} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{running?.kind === "call" ? <b>{running.call.name}</b> : fill(words.steps, { count: parts.length })}</summary>
      {isOpen && <div className="answer">{children}</div>}
    </details>
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
    case "text": return <Said text={part.text} isGrowing={part.open && !isOver} />;
    case "thinking": return <Thinking text={part.text} isRunning={part.open && !isOver} took={part.endedAt === undefined ? undefined : part.endedAt - part.at} />;
    case "call": return <CallView session={session} turn={turn} call={part.call} isOver={isOver} />;
    case "retrieval": return <RetrievalView data={part.data} />;
    case "memory": return <MemoryCard data={part.data} />;
    case "artifact": return <ArtifactCard artifact={part.data} />;
    case "skill": return <SkillLine skill={part.data} />;
    case "schedule": return <ScheduleLine data={part.data} />;
    case "warning": return WAITS.has(part.data.code) ? null : <WarningNote warning={part.data} />;
    case "compression": return <RunningCompression session={session} part={part} />;
    case "unknown": return <UnknownView event={part.event} />;
  }
});

function RunningCompression({ session, part }: { readonly session: string; readonly part: Extract<Part, { kind: "compression" }> }) {
  const isRunning = useApp(({ conversation }) => conversation.compressing === part.seq);
  // One made by hand may end in a later turn, which tells it then.
  return part.data.phase === "started" && !isRunning ? null : <CompressionCard session={session} data={part.data} isRunning={isRunning} />;
}

function Said({ text, isGrowing }: { readonly text: string; readonly isGrowing: boolean }) {
  return passages(text).map(({ kind, text: said, isOpen }, place) => kind === "thinking"
    ? <Thinking key={place} text={said} isRunning={isOpen && isGrowing} />
    : <div key={place} className={isOpen && isGrowing ? "prose growing" : "prose"}><Markdown text={said} /></div>);
}

interface ThinkingProps {
  readonly text: string;
  readonly isRunning: boolean;
  /** Milliseconds, where the log tells them: of what stands in the text it does not. */
  readonly took?: number | undefined;
}

const NO_TIME_MS = 50; // what would be 0.0 s

// One line: what is thought just now, and then how long it took. The rest is there for who opens it.
function Thinking({ text, isRunning, took }: ThinkingProps) {
  const speech = useSpeech();
  const { words, fill } = speech;
  const isAll = useSettings(({ detail }) => detail === "all");
  const [isOpen, setOpen] = useState(isAll);
  const says = isRunning ? words.thinking : took === undefined || took < NO_TIME_MS ? words.thought : fill(words.thoughtFor, { time: speech.seconds(took) });
  return (
    <details className={isRunning ? "step thinking running" : "step thinking"} open={isAll} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary><b>{says}</b>{isRunning && !isOpen && <span className="thought" dir="auto" aria-hidden><i>{lastLine(text)}</i></span>}</summary>
      {isOpen && <div className="prose"><Markdown text={text} /></div>}
    </details>
  );
}

const LINE = 160; // characters that are wider than any line of the page

// The end of what is thought, without its Markdown.
export function lastLine(text: string): string {
  const line = text.slice(-2 * LINE).trimEnd().split("\n").at(-1) ?? "";
  return line.replaceAll(/[*_`#>]+/g, "").trim().slice(-LINE);
}

function Withdrawn({ attempt: { attempt, reason = "" } }: { readonly attempt: Attempt }) {
  const { words, fill } = useSpeech();
  return <p className="withdrawn">{fill(words.withdrawn, { attempt, reason: words.codes[reason] ?? reason.replaceAll("_", " ") })}</p>;
}

function Regenerate({ session, turn }: Props) {
  const speech = useSpeech();
  const { words } = speech;
  const isFree = useOpenTurnId() === undefined;
  const [trouble, setTrouble] = useState<unknown>(null);
  if (!isFree) return null;
  return (
    <>
      <ActionButton className="icon" label={words.askAnew} title={words.askAnew} onTrouble={setTrouble} act={() => askAnew(session, turn)}><RefreshCw aria-hidden /></ActionButton>
      <Trouble>{trouble !== null && speech.problem(trouble)}</Trouble>
    </>
  );
}

const CUT = new Set<string>(["cancelled", "limit_reached", "interrupted"]);

// Something was said, and not to its end.
function isCut({ outcome, error, parts }: Turn): boolean {
  return outcome !== undefined && error?.retryable !== true && (CUT.has(outcome.status) || outcome.stop_reason === "max_tokens") && parts.some(({ kind }) => kind === "text");
}

// Asks for the rest of the last answer.
function GoOn({ session, turn }: Props) {
  const { words } = useSpeech();
  const isLast = useApp(({ conversation }) => conversation.path.at(-1) === turn.id);
  const isFree = useOpenTurnId() === undefined;
  const hasNext = useMessages().some((message) => message.session === session);
  if (!isLast || !isFree || hasNext) return null;
  return <button type="button" className="small go-on" onClick={() => send(session, words.goOnMessage, [])}>{words.goOn}</button>;
}

function Fork({ session, turn, onTrouble }: Props & { readonly onTrouble: (error: unknown) => void }) {
  const { words } = useSpeech();
  const isReplay = useApp(({ replay }) => replay !== null);
  const chat = useChat(session);
  if (isReplay || chat === null || chat.temporary === true) return null;
  const act = () => fork(session, turn.id, { title: words.forked(chat.title ?? ""), isOwn: may(chat, "own") });
  return <ActionButton className="icon" label={words.fork} title={words.fork} onTrouble={onTrouble} act={act}><GitFork aria-hidden /></ActionButton>;
}

function Failure({ session, turn }: Props) {
  const speech = useSpeech();
  const { words } = speech;
  const isFree = useOpenTurnId() === undefined;
  const isReplay = useApp(({ replay }) => replay !== null);
  const mayWrite = useMayWrite(session);
  const [trouble, setTrouble] = useState<unknown>(null);
  const { code, message, retryable } = turn.error ?? { code: "", message: "", retryable: false };
  const inWords = words.codes[code];
  return (
    <div className="note error">
      <p>
        {inWords !== undefined && <>{inWords}。</>}
        <span dir="auto">{message}</span>
        {retryable && <>{/[.!?。！？]$/.test(message) ? " " : ". "}{words.mayHelp}</>}
      </p>
      {retryable && mayWrite && !isReplay && <ActionButton disabled={!isFree} onTrouble={setTrouble} act={() => askAnew(session, turn)}>{words.again}</ActionButton>}
      <Trouble>{trouble !== null && speech.problem(trouble)}</Trouble>
    </div>
  );
}

// Asks a message anew, unless a turn runs.
export async function askAnew(session: string, turn: Turn): Promise<void> {
  if (openTurnId() === undefined) await client.regenerate(session, turn.id, modelNow(session));
}
