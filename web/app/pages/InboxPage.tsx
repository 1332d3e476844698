// The calls that wait for a person, of all chats, and the tools that may run without asking.

import type { api, Call } from "@chat-gateway/client";
import { useCallback, useEffect, useState } from "react";

import { ApprovalCard } from "../conversation/ApprovalCard";
import { hashOf, NEW_CHAT } from "../page-address";
import { chats } from "../sidebar/chats";
import { words as chatWords } from "../sidebar/sidebar-words";
import { client, useWords } from "../state";
import { useStore } from "../store";
import { codeOf } from "./problems";
import { type PageStatus, usePageStatus } from "./page-status";
import { StatusLine } from "./StatusLine";
import "./pages.css";

export default function InboxPage() {
  const words = useWords(chatWords);
  const { status, attempt } = usePageStatus();
  const waiting = useStore(chats.store, ({ approvals }) => approvals);
  useEffect(() => void chats.refresh(), []);
  return (
    <section className="page">
      <p className="faint">{words.inboxHint}</p>
      <StatusLine status={status} />
      <ul className="cards">
        {waiting.map((approval) => <Waiting key={approval.tool_call_id} approval={approval} />)}
        {waiting.length === 0 && <li className="empty">{words.inboxEmpty}</li>}
      </ul>
      <Grants attempt={attempt} />
    </section>
  );
}

function Waiting({ approval }: { readonly approval: api.Approval }) {
  const words = useWords(chatWords);
  const { session_id: session, turn_id: turn, tool_call_id: id, name, arguments: given, requested_at: startedAt } = approval;
  const title = useStore(chats.store, (state) => state.chats.find((chat) => chat.id === session)?.title) ?? words.untitled;
  const call: Call = { id, name, arguments: given, state: "awaiting_approval", startedAt, request: approval, parts: [] };
  return (
    <li>
      <h2><a href={hashOf({ ...NEW_CHAT, session })}>{words.inChat(title)}</a></h2>
      <ApprovalCard session={session} turn={turn} call={call} />
    </li>
  );
}

function Grants({ attempt }: Pick<PageStatus, "attempt">) {
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
