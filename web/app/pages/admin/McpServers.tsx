// MCP servers: how each is doing, those that are added here and those of the settings.

import type { api } from "@chat-gateway/client";
import { useState } from "react";

import { Dialog } from "../../Dialog";
import { client, useWords } from "../../state";
import { useCardList } from "../card-list";
import { CardsPage } from "../CardsPage";
import type { PageStatus } from "../page-status";
import { words as pageWords } from "../page-words";
import { McpServerForm } from "./McpServerForm";
import { words as table } from "./admin-words";

type Row = api.McpServerRow & { readonly id: string };
const rowOf = (server: api.McpServerRow): Row => ({ ...server, id: server.name });
const read = async () => (await client.mcpServers()).servers.map(rowOf);

export function McpServers() {
  const words = useWords(table);
  const cards = useCardList<Row>(read);
  const add = (name: string, body: api.McpServerBody) => cards.add(() => client.putMcpServer(name, body));
  return (
    <CardsPage cards={cards} words={{ hint: words.serversHint, add: words.add, none: words.none }} form={<McpServerForm onDone={add} onCancel={() => cards.setAdding(false)} />}>
      {(server) => <Server key={server.id} server={server} attempt={cards.attempt} onChanged={cards.changed} onGone={cards.gone} onLook={cards.show} />}
    </CardsPage>
  );
}

interface ServerProps {
  readonly server: Row;
  readonly attempt: PageStatus["attempt"];
  readonly onChanged: (server: Row) => void;
  readonly onGone: (id: string) => void;
  readonly onLook: () => Promise<unknown>;
}

function Server({ server, attempt, onChanged, onGone, onLook }: ServerProps) {
  const words = useWords(table);
  const { cancel } = useWords(pageWords);
  const [isEditing, setEditing] = useState(false);
  const [isAsked, setAsked] = useState(false);
  const { name } = server;
  const change = async (_: string, body: api.McpServerBody) => {
    const isDone = await attempt(async () => {
      onChanged(rowOf(await client.putMcpServer(name, body)));
      return undefined;
    });
    if (isDone) setEditing(false);
    return isDone;
  };
  const remove = () => attempt(async () => {
    await client.removeMcpServer(name);
    onGone(name);
    return words.removed(name);
  });
  const signIn = () => attempt(async () => {
    location.assign((await client.beginMcpSignIn(name)).url);
    return undefined;
  });
  const signOut = () => attempt(async () => {
    await client.endMcpSignIn(name);
    await onLook();
    return words.signedOut;
  });
  return (
    <li className="card">
      <div className="card-head">
        <strong className="name">{name}</strong>
        <small className={server.status === "connected" || server.status === "connecting" ? undefined : "trouble"}>{words.statuses[server.status]}</small>
        <small>{words.tools(server.tools)}</small>
        {server.is_fixed && <small>{words.fixed}</small>}
      </div>
      {server.url === undefined ? <small>{words.program}</small> : <code dir="ltr">{server.url}</code>}
      {server.error !== undefined && <small className="trouble" dir="auto">{server.error}</small>}
      <div className="buttons">
        {server.status === "needs_sign_in" && <button type="button" className="small" aria-label={words.actionOf(words.signIn, name)} onClick={() => void signIn()}>{words.signIn}</button>}
        {server.is_signed_in && <button type="button" className="small" aria-label={words.actionOf(words.signOut, name)} onClick={() => void signOut()}>{words.signOut}</button>}
        {!server.is_fixed && <button type="button" className="small" aria-expanded={isEditing} aria-label={words.actionOf(words.edit, name)} onClick={() => setEditing(!isEditing)}>{words.edit}</button>}
        {!server.is_fixed && <button type="button" className="small" aria-label={words.actionOf(words.remove, name)} onClick={() => setAsked(true)}>{words.remove}</button>}
      </div>
      {isEditing && <McpServerForm server={server} onDone={change} onCancel={() => setEditing(false)} />}
      {isAsked && (
        <Dialog title={words.removeTitle(name)} onClose={() => setAsked(false)}>
          <p>{words.removeHint}</p>
          <div className="buttons">
            <button type="button" className="primary dangerous" onClick={() => {
              setAsked(false);
              void remove();
            }}>{words.removeNow}</button>
            <button type="button" className="small" data-first onClick={() => setAsked(false)}>{cancel}</button>
          </div>
        </Dialog>
      )}
    </li>
  );
}
