// The calls that wait for a person, of all chats, and the tools that may run without asking.

import type { api } from "@chat-gateway/client";
import { useCallback, useEffect, useId, useState } from "react";

import { hashOf, NEW_CHAT } from "../place";
import { chats } from "../sidebar/chats";
import { words as chatWords } from "../sidebar/words";
import { client, useWords } from "../state";
import { useStore } from "../store";
import { useTime } from "./format";
import { plain } from "./plain";
import { codeOf } from "./problems";
import { type Telling, useTelling } from "./tell";
import { ToldLine } from "./ToldLine";
import "./pages.css";

const SCOPES = ["once", "session", "always"] as const;

export default function InboxPage() {
  const words = useWords(chatWords);
  const { told, attempt } = useTelling();
  const waiting = useStore(chats.store, ({ approvals }) => approvals);
  useEffect(() => void chats.refresh(), []);
  return (
    <section className="page">
      <p className="faint">{words.inboxHint}</p>
      <ToldLine told={told} />
      <ul className="cards">
        {waiting.map((approval) => <ApprovalCard key={approval.tool_call_id} approval={approval} attempt={attempt} />)}
        {waiting.length === 0 && <li className="empty">{words.inboxEmpty}</li>}
      </ul>
      <Grants attempt={attempt} />
    </section>
  );
}

interface CardProps {
  readonly approval: api.Approval;
  readonly attempt: Telling["attempt"];
}

function ApprovalCard({ approval, attempt }: CardProps) {
  const words = useWords(chatWords);
  const time = useTime();
  const id = useId();
  const [scope, setScope] = useState<(typeof SCOPES)[number]>("once");
  const [reason, setReason] = useState("");
  const [isBusy, setBusy] = useState(false);
  const { session_id: session, name } = approval;
  const title = useStore(chats.store, (state) => state.chats.find((chat) => chat.id === session)?.title) ?? words.untitled;
  const decide = async (body: api.DecisionBody) => {
    setBusy(true);
    const isDone = await attempt(async () => {
      try {
        await chats.decide(approval, body);
      } catch (error) {
        if (codeOf(error) !== "conflict") throw error;
        await chats.refresh();
        throw Object.assign(new Error(), { code: "approval_decided" });
      }
      return body.decision === "approve" ? words.approvedNow(name) : words.deniedNow(name);
    });
    if (!isDone) setBusy(false);
  };
  return (
    <li className="card" aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{words.needsApproval(name)}</h2>
      <p className="faint"><a href={hashOf({ ...NEW_CHAT, session })}>{words.inChat(title)}</a> · {words.until(time(approval.expires_at))}</p>
      {approval.reason !== undefined && <p dir="auto">{approval.reason}</p>}
      <pre tabIndex={0} aria-label={words.argumentsOf(name)}>{plain(approval.arguments)}</pre>
      <div className="buttons">
        <button type="button" className="primary" disabled={isBusy} onClick={() => void decide({ decision: "approve", scope })}>{words.approve}</button>
        <label>{words.holds} <select value={scope} onChange={(event) => setScope(event.target.value as typeof scope)}>
          {SCOPES.map((each) => <option key={each} value={each}>{words[each]}</option>)}
        </select></label>
      </div>
      <div className="buttons">
        <button type="button" className="small" disabled={isBusy}
          onClick={() => void decide({ decision: "deny", ...(reason.trim() === "" ? {} : { reason: reason.trim() }) })}>{words.deny}</button>
        <input type="text" className="grow" maxLength={2000} autoComplete="off" value={reason} placeholder={words.whyNot} aria-label={words.whyNot}
          onChange={(event) => setReason(event.target.value)} />
      </div>
    </li>
  );
}

function Grants({ attempt }: Pick<Telling, "attempt">) {
  const words = useWords(chatWords);
  const [grants, setGrants] = useState<readonly api.ToolGrant[]>([]);
  const waiting = useStore(chats.store, ({ approvals }) => approvals); // an approval may have granted more
  const read = useCallback(() => client.grants().then(({ grants: found }) => setGrants(found), () => undefined), []);
  useEffect(() => void read(), [read, waiting]);
  const tools = [...new Set(grants.map(({ tool }) => tool))];
  if (tools.length === 0) return null;
  const where = (tool: string) => {
    const given = grants.filter((each) => each.tool === tool);
    return given.some(({ session_id: session }) => session === undefined) ? words.everyChat : words.someChats(given.length);
  };
  const takeBack = (tool: string) => attempt(async () => {
    try {
      await client.revokeGrant(tool);
    } catch (error) {
      if (codeOf(error) !== "not_found") throw error; // it is gone already
    }
    await read();
    return undefined;
  });
  return (
    <>
      <h2>{words.grants}</h2>
      <ul className="cards">
        {tools.map((tool) => (
          <li key={tool} className="card row">
            <span><b>{tool}</b> <small>{where(tool)}</small></span>
            <button type="button" className="small" aria-label={words.takeBackOf(tool)} onClick={() => void takeBack(tool)}>{words.takeBack}</button>
          </li>
        ))}
      </ul>
    </>
  );
}
