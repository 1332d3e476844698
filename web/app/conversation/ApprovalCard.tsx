// A person's say in a tool call: the card that asks for it, and the line that tells what was decided.

import { type Call, Refused, type ApprovalResponse } from "@chat-gateway/client";
import { useEffect, useId, useState } from "react";

import { now } from "../clock";
import { client } from "../state";
import { ActionButton, Trouble } from "./ActionButton";
import { useMember } from "./members";
import { type Speech, useSpeech } from "./speech";
import { isRounded, visibleJson } from "./visible-json";

const SCOPES = ["once", "session", "always"] as const;
type Scope = (typeof SCOPES)[number];

interface Props {
  readonly session: string;
  readonly turn: string;
  readonly call: Call;
}

export function ApprovalCard({ session, turn, call }: Props) {
  const speech = useSpeech();
  const { words } = speech;
  const id = useId();
  const { arguments: given, reason, expires_at: until } = call.request ?? { arguments: call.arguments };
  const [edited, setEdited] = useState<string | null>(null);
  const [scope, setScope] = useState<Scope>("once");
  const [why, setWhy] = useState("");
  const [trouble, setTrouble] = useState<string | null>(null);
  const cannotEdit = isRounded(given); // the rounded number would be sent
  const fail = (error: unknown) => setTrouble(error === null ? null
    : error instanceof Refused && error.status === 409 ? words.decidedAlready : speech.problem(error));

  const stopEditing = () => {
    setEdited(null);
    setTrouble(null);
  };

  const approve = async () => {
    const problem = edited === null ? null : problemOf(edited, speech);
    if (problem !== null) {
      setTrouble(problem);
      return;
    }
    // Edited arguments go as they were written, digit by digit.
    await decide(session, turn, call.id, edited === null ? JSON.stringify({ decision: "approve", scope }) : `{"decision":"approve","arguments":${edited}}`);
  };
  const deny = () => decide(session, turn, call.id, JSON.stringify({ decision: "deny", reason: why.trim() || undefined }));

  return (
    <section className="approval" aria-labelledby={`${id}-title`}>
      <div className="approval-head">
        <h3 id={`${id}-title`}>{speech.fill(words.needsApproval, { name: call.name })}</h3>
        {until !== undefined && <TimeLeft until={until} />}
      </div>
      {reason && <p dir="auto">{reasonInWords(reason, speech)}</p>}
      {edited === null ? <pre tabIndex={0} dir="ltr">{visibleJson(given)}</pre> : (
        <div className="editor">
          <label htmlFor={`${id}-arguments`}>{words.argumentsAsJson}</label>
          <textarea id={`${id}-arguments`} spellCheck={false} dir="ltr" value={edited} autoFocus
            aria-invalid={trouble !== null && problemOf(edited, speech) !== null}
            rows={Math.min(14, edited.split("\n").length + 1)} onChange={(event) => setEdited(event.target.value)}
            onKeyDown={(event) => event.key === "Escape" && stopEditing()} />
          <button type="button" className="small" onClick={stopEditing}>{words.cancel}</button>
        </div>
      )}
      {cannotEdit && <p className="why">{words.rounded}</p>}
      {edited === null && (
        <button type="button" className="small" disabled={cannotEdit}
          onClick={() => {
            setEdited(visibleJson(given));
            setScope("once"); // what was edited is approved as it is, and nothing after it
          }}>{words.editArguments}</button>
      )}
      <div className="choice">
        <ActionButton className="primary" act={approve} onTrouble={fail}>{words.approve}</ActionButton>
        <span>
          <label htmlFor={`${id}-scope`}>{words.howLong}</label>
          <select id={`${id}-scope`} value={scope} disabled={edited !== null} onChange={(event) => setScope(event.target.value as Scope)}>
            {SCOPES.map((each) => <option key={each} value={each}>{words.scopes[each]}</option>)}
          </select>
        </span>
      </div>
      <div className="choice">
        <ActionButton act={deny} onTrouble={fail}>{words.deny}</ActionButton>
        <span className="grows">
          <label htmlFor={`${id}-reason`}>{words.whyNot}</label>
          <input id={`${id}-reason`} type="text" maxLength={2000} autoComplete="off" value={why} onChange={(event) => setWhy(event.target.value)} />
        </span>
      </div>
      <Trouble>{trouble}</Trouble>
    </section>
  );
}

async function decide(session: string, turn: string, call: string, body: string): Promise<void> {
  const path = `/api/sessions/${encodeURIComponent(session)}/turns/${turn}/approvals/${encodeURIComponent(call)}`;
  await client.connection.send(path, { method: "POST", headers: { "Content-Type": "application/json" }, body });
}

// What is wrong with edited arguments; null when they are a JSON object.
function problemOf(text: string, { words, fill }: Speech): string | null {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? null : words.notAnObject;
  } catch (error) {
    return fill(words.notJson, { reason: (error as Error).message });
  }
}

function TimeLeft({ until }: { readonly until: number }) {
  const speech = useSpeech();
  const [at, setAt] = useState(now);
  useEffect(() => {
    const clock = setInterval(() => setAt(now()), 1000);
    return () => clearInterval(clock);
  }, []);
  const seconds = Math.max(0, Math.ceil((until - at) / 1000));
  return <span className="time">{seconds > 0 ? speech.fill(speech.words.timeLeft, { time: speech.wait(seconds) }) : speech.words.timeIsUp}</span>;
}

// The server's own reasons in the reader's language; others as they are.
function reasonInWords(reason: string, speech: Speech): string {
  const { words, fill } = speech;
  const changed = /^You allowed this tool before, .*? to be what you allowed\. ([^]*)$/.exec(reason)?.[1];
  if (changed !== undefined) return `${words.toolChanged} ${reasonInWords(changed, speech)}`;
  const led = /^It would ([a-z ]+)(?:: ([^]*))?\.?\nYour message does not ask for that, .* others wrote \((.*)\), which/.exec(reason);
  if (led) {
    const [, what = "", subject = "…", read = ""] = led;
    const sources = read.split(", ").map((name) => (words.readFrom as Record<string, string>)[name] ?? name);
    const change = (words.lastingChanges as Record<string, string>)[what] ?? what;
    return fill(words.notAskedFor, { change, subject, sources: sources.join(words.comma) });
  }
  const rule = /^The rule (.+) of this server's tool policy holds for it\.$/.exec(reason)?.[1];
  if (rule !== undefined) return fill(words.askedByRule, { rule });
  return reason === "It has effects." ? words.hasEffects : reason;
}

// What was decided, by whom.
export function DecisionLine({ session, response }: { readonly session: string; readonly response: ApprovalResponse }) {
  const { words, fill } = useSpeech();
  const decider = useMember(session, response.by) ?? words.aMember;
  const { decision, by, scope, reason, arguments: edited } = response;
  const rule = (words.deciders as Record<string, string>)[by];
  const who = rule ?? fill(decision === "approved" ? words.approvedBy : words.deniedBy, { by: decider });
  const facts = [who, scope === undefined || scope === "once" ? "" : words.scopesOf[scope], edited === undefined ? "" : words.withEdits];
  const decided = facts.filter(Boolean).join(words.comma);
  return <p className={`decision ${decision}`}>{reason && rule === undefined ? `${decided}: ${reason}` : decided}</p>;
}
