// A tool call in an answer: what was asked for, a person's say in it, and what came of it.

import type { Call, Skill, StepTrace, TurnWarning } from "@chat-gateway/client";
import { memo } from "react";

import { useSettings } from "../settings";
import { useMayWrite } from "../sidebar/shared-chats";
import { useApp } from "../state";
import { ApprovalCard, DecisionLine } from "./ApprovalCard";
import { ArtifactCard } from "./ArtifactCard";
import { useSpeech } from "./speech";
import { LongText } from "./LongText";
import { MemoryCard } from "./MemoryCard";
import { RetrievalView } from "./RetrievalView";
import { gistOf, visibleJson } from "./visible-json";
import { ScheduleLine } from "./ScheduleLine";
import { UnknownView } from "./UnknownView";

interface Props {
  readonly session: string;
  readonly turn: string;
  readonly call: Call;
  /** The turn is over: nobody can decide any more. */
  readonly isOver: boolean;
}

const WAITING = new Set(["running", "awaiting_approval", "awaiting_result"]);

export const CallView = memo(function CallView({ session, turn, call, isOver }: Props) {
  const speech = useSpeech();
  const { words } = speech;
  const isAll = useSettings(({ detail }) => detail === "all");
  const isReplay = useApp(({ replay }) => replay !== null);
  const mayWrite = useMayWrite(session);
  const { name, state, result, response, request } = call;
  const isOpen = WAITING.has(state) && !isOver;
  const isTrouble = !WAITING.has(state) && state !== "ok";
  return (
    <div className="call">
      <details className={`step tool${isOpen ? " running" : ""}${isTrouble ? " trouble" : ""}`} open={isAll}>
        <summary>
          <b>{name}</b> <span className="gist" dir="auto">{gistOf(call.arguments)}</span>{" "}
          <i className="state">{state === "running" ? <Progress call={call} /> : words.states[state]}</i>
        </summary>
        <pre aria-label={words.arguments} tabIndex={0} dir="ltr">{visibleJson(call.arguments)}</pre>
        {result && result.content !== "" && <pre className="result" aria-label={words.result} tabIndex={0} dir="auto"><LongText text={result.content} wraps /></pre>}
        {result?.steps && result.steps.length > 0 && <Steps steps={result.steps} />}
      </details>
      {isOpen && call.progress?.progress !== undefined && <progress value={call.progress.progress} max={1} aria-label={name} />}
      {state === "awaiting_approval" && request && !isOver && (isReplay || mayWrite) && <ApprovalCard session={session} turn={turn} call={call} />}
      {state === "awaiting_result" && !isOver && <p className="note client">{speech.fill(words.runsOnClient, { name })}</p>}
      {response && <DecisionLine session={session} response={response} />}
      {call.parts.map((part) => {
        switch (part.kind) {
          case "retrieval": return <RetrievalView key={part.seq} data={part.data} />;
          case "memory": return <MemoryCard key={part.seq} data={part.data} />;
          case "artifact": return <ArtifactCard key={part.seq} artifact={part.data} />;
          case "skill": return <SkillLine key={part.seq} skill={part.data} />;
          case "schedule": return <ScheduleLine key={part.seq} data={part.data} />;
          case "warning": return <WarningNote key={part.seq} warning={part.data} />;
          case "unknown": return <UnknownView key={part.seq} event={part.event} />;
          default: return null;
        }
      })}
    </div>
  );
});

function Progress({ call: { progress } }: { readonly call: Call }) {
  if (!progress) return "…";
  const share = progress.progress === undefined ? "…" : `${Math.round(progress.progress * 100)} %`;
  return `${share} ${progress.message ?? ""}`;
}

function Steps({ steps }: { readonly steps: readonly StepTrace[] }) {
  const { words, fill } = useSpeech();
  return (
    <details className="steps">
      <summary>{fill(words.steps, { count: steps.length })}</summary>
      <ol>
        {steps.map(({ step_name: name, duration_ms: duration, error }, at) => (
          <li key={at} className={error ? "trouble" : undefined}>
            {name} <span className="time">{duration} ms</span>{error && ` ${error}`}
          </li>
        ))}
      </ol>
    </details>
  );
}

export function SkillLine({ skill: { name, action, reason = "", path } }: { readonly skill: Skill }) {
  const { words, fill } = useSpeech();
  const text = fill(action === "read" ? words.skillRead : words.skillRefused, { name: path ? `${name}/${path}` : name, reason });
  return <p className={`skill ${action}`}>{text}</p>;
}

export function WarningNote({ warning: { code, message } }: { readonly warning: TurnWarning }) {
  const { words } = useSpeech();
  const warned = (words.warned as Readonly<Record<string, string>>)[code];
  if (warned === undefined) return <p className="note warning" dir="auto">{message}</p>;
  return <p className="note warning">{warned} <small dir="auto">{message}</small></p>;
}
