// A skill, tried: a new chat asks the model for it, and its steps are shown as they happen. It is a turn like any other,
// with its approvals and its place in the log.

import { answer, calls, type Call, emptyConversation, followSession, reduceAll, type Turn, type api } from "@chat-gateway/client";
import { useEffect, useId, useRef, useState } from "react";

import { Dialog } from "../../Dialog";
import { chats } from "../../sidebar/chats";
import { client, go, useApp, useWords } from "../../state";
import { localeOf } from "../locale-formats";
import { useLanguage } from "../../settings";
import { usePageStatus } from "../page-status";
import { StatusLine } from "../StatusLine";
import { words as table } from "../page-words";
import { exampleOf } from "./parameters";

interface Props {
  readonly skill: api.SkillRow;
  readonly onClose: () => void;
}

export function TryOut({ skill: { name, type, metadata }, onClose }: Props) {
  const { skills: words } = useWords(table);
  const isDemo = useApp((state) => state.health?.demo === true);
  const { status, report, attempt } = usePageStatus();
  const isWritten = type === "markdown";
  const [text, setText] = useState(() => isWritten ? words.askWritten(name) : JSON.stringify(exampleOf(metadata), null, 2));
  const [session, setSession] = useState<string | null>(null);
  const [turn, setTurn] = useState<Turn | null>(null);
  const ending = useRef<AbortController>(undefined);
  const field = useId();
  useEffect(() => () => ending.current?.abort(), []);

  const start = () => {
    const message = isWritten ? text : messageFor(name, text, { isDemo, ask: words.ask });
    if (message instanceof SyntaxError) {
      report(message.message === "" ? words.notAnObject : words.notJson(message.message));
      return;
    }
    ending.current?.abort();
    const mine = ending.current = new AbortController();
    setTurn(null);
    void attempt(async () => {
      const { id } = await client.createSession({ title: words.trying(name) });
      setSession(id);
      void chats.refresh();
      const accepted = await client.startTurn(id, isDemo && isWritten ? `/call read_skill ${JSON.stringify({ name })}` : message);
      let conversation = emptyConversation();
      await followSession(client, id, {
        turnId: accepted.turn_id, signal: mine.signal,
        onEvent: (event) => {
          conversation = reduceAll(conversation, [event]);
          setTurn(conversation.turns.get(accepted.turn_id) ?? null);
        },
      });
      return undefined;
    });
  };
  return (
    <Dialog title={words.trying(name)} className="try-out" onClose={onClose}>
      <p className="faint">{words.tryHint}</p>
      <form onSubmit={(event) => {
        event.preventDefault();
        start();
      }}>
        <label htmlFor={field}>{isWritten ? words.message : words.argumentsLabel}</label>
        <textarea id={field} className={isWritten ? undefined : "code"} rows={Math.min(10, text.split("\n").length + 1)} spellCheck={isWritten}
          value={text} onChange={(event) => setText(event.target.value)} />
        <div className="buttons">
          <button type="submit" className="primary" disabled={turn?.state === "running"}>{words.start}</button>
          {session !== null && <button type="button" className="small" onClick={() => {
            onClose();
            go({ session });
          }}>{words.openChat}</button>}
        </div>
      </form>
      <StatusLine status={status} />
      {turn && <Steps turn={turn} />}
    </Dialog>
  );
}

function Steps({ turn }: { readonly turn: Turn }) {
  const { skills: words } = useWords(table);
  const isWaiting = turn.state === "awaiting_approval";
  return (
    <div className="try-steps" aria-live="polite">
      <h3>{words.steps} <small>{words.states[turn.state]}</small></h3>
      {isWaiting && <p className="page-note">{words.approvalNeeded}</p>}
      <ol>{calls(turn).map((call) => <Step key={call.id} call={call} />)}</ol>
      {answer(turn) !== "" && <><h3>{words.answer}</h3><p className="content" dir="auto">{answer(turn)}</p></>}
    </div>
  );
}

function Step({ call: { name, arguments: given, state, result } }: { readonly call: Call }) {
  const { skills: words } = useWords(table);
  const language = useLanguage();
  const time = (ms: number) => `${ms.toLocaleString(localeOf(language))} ms`;
  return (
    <li>
      <b>{name}</b> <small>{words.states[state]}{result && `, ${time(result.duration_ms)}`}</small>
      <pre tabIndex={0} aria-label={words.argumentsLabel}>{JSON.stringify(given, null, 2)}</pre>
      {result?.steps && result.steps.length > 0 && (
        <ol>{result.steps.map((step) => (
          <li key={step.step_id}>{step.step_name} <small>{time(step.duration_ms)}</small>{step.error !== undefined && <span className="trouble"> {step.error}</span>}</li>
        ))}</ol>
      )}
      {result && <pre tabIndex={0} aria-label={words.result} dir="auto">{result.content}</pre>}
    </li>
  );
}

// What is said to the model, so that it calls the tool with these arguments. The demo model has a command for that.
export function messageFor(
  name: string, text: string, { isDemo, ask }: { isDemo: boolean; ask: (name: string, given: string) => string },
): string | SyntaxError {
  try {
    const given: unknown = JSON.parse(text);
    if (typeof given !== "object" || given === null || Array.isArray(given)) return new SyntaxError("");
  } catch (error) {
    return error as SyntaxError;
  }
  const line = text.trim().replace(/\s*\n\s*/g, " "); // as it was written, digit by digit
  return isDemo ? `/call ${name} ${line}\n/then /say ✓` : ask(name, line);
}
