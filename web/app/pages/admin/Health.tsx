// How the gateway is doing: what /readyz finds, where it runs, and how much room there is.

import type { api } from "@chat-gateway/client";
import { RefreshCw } from "lucide-react";
import { useCallback, useEffect, useState } from "react";

import { useLanguage } from "../../settings";
import { client, useWords } from "../../state";
import { sizeText, useTime } from "../locale-formats";
import { words as pageWords } from "../page-words";
import { usePageStatus } from "../page-status";
import { StatusLine } from "../StatusLine";
import { words as table } from "./admin-words";

export function Health() {
  const { refresh } = useWords(pageWords);
  const { status, attempt } = usePageStatus();
  const [server, setServer] = useState<api.ServerReply | null>(null);
  const read = useCallback(() => attempt(async () => {
    setServer(await client.server());
    return undefined;
  }), [attempt]);
  useEffect(() => void read(), [read]);
  return (
    <>
      <div className="page-bar"><button type="button" className="small" onClick={() => void read()}><RefreshCw aria-hidden="true" />{refresh}</button></div>
      <StatusLine status={status} />
      {server && <Findings health={server.health} />}
      {server && <Facts server={server} />}
    </>
  );
}

function Findings({ health }: { readonly health: api.Health }) {
  const words = useWords(table);
  const troubles = [
    ...Object.entries(health.failed ?? {}).map(([name, { message }]) => `${name}: ${message}`),
    ...Object.entries(health.failing_tasks ?? {}).map(([name, { failures, why }]) => words.failingTask(name, failures, why)),
    ...(health.replicas?.differ.length ? [words.differ(health.replicas.differ.join(", "))] : []),
    ...(health.notices ?? []),
  ];
  return (
    <>
      <p className={health.status === "ok" ? undefined : "trouble"}><strong>{words.health[health.status]}</strong></p>
      {troubles.length > 0 && <div className="page-note"><ul>{troubles.map((each) => <li key={each} dir="auto">{each}</li>)}</ul></div>}
    </>
  );
}

function Facts({ server }: { readonly server: api.ServerReply }) {
  const words = useWords(table);
  const time = useTime();
  const language = useLanguage();
  const { health, disk } = server;
  const facts: readonly (readonly [string, string])[] = [
    [words.facts.version, health.version],
    [words.facts.model, health.model],
    [words.facts.engine, words.engines[server.engine]],
    ...Object.entries(server.sizes).map(([part, size]) =>
      [`${words.facts.size}: ${(words.part as Readonly<Record<string, string>>)[part] ?? part}`, sizeText(size, language)] as const),
    [words.facts.disk, words.ofTotal(sizeText(disk.free, language), sizeText(disk.total, language))],
    ...(health.replicas ? [[words.facts.replicas, String(health.replicas.alive)] as const] : []),
    ...Object.entries(health.newer_schema ?? {}).map(([what, revision]) => [words.facts.newer, `${what} ${revision}`] as const),
    [words.facts.started, time(server.started_at)],
    [words.facts.python, server.python],
  ];
  const [before, command, after] = words.doctor.split("`");
  return (
    <>
      <dl className="facts server-facts">{facts.map(([name, value]) => <div key={name}><dt className="faint">{name}</dt><dd dir="auto">{value}</dd></div>)}</dl>
      <p className="faint"><small>{before}<code>{command}</code>{after}</small></p>
    </>
  );
}
