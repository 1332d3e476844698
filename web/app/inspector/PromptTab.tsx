// What the model was sent in a turn: how full its window was, what the cache held, and the parts of the prompt.

import type { api, Event } from "@chat-gateway/client";
import { useEffect, useMemo, useState } from "react";

import { client, useWords } from "../state";
import { Gauge } from "./Gauge";
import { count, extent } from "./numbers";
import { changeOf, type Prefix, prefixOf, type PrefixChange } from "./prefix";
import { SentParts } from "./SentParts";
import { callsOf, contextOf, type Tokens } from "./usage";
import { words as table } from "./inspector-words";

export interface PromptTabProps {
  /** null: of a recording, of which the server knows nothing. */
  readonly session: string | null;
  readonly turnId: string | null;
  /** Of this turn, and of the one before it. */
  readonly events: readonly Event[];
  readonly before: readonly Event[];
}

export function PromptTab({ session, turnId, events, before }: PromptTabProps) {
  const words = useWords(table);
  const prefix = useMemo(() => prefixOf(events), [events]);
  const change = useMemo(() => changeOf(before.length > 0 ? prefixOf(before) : undefined, prefix), [before, prefix]);
  const calls = useMemo(() => callsOf(events), [events]);
  const newest = calls.findLast((call) => call.tokens)?.tokens;
  // Asked for anew with each model call: more was sent.
  const { sent, failed, again } = useSent(session, turnId, calls.filter((call) => !call.open).length);
  if (events.length === 0) return <p className="quiet">{words.noTurn}</p>;
  return (
    <>
      {newest && <Gauge used={contextOf(newest)} window={sent?.window} compressAt={sent?.compress_at} />}
      {newest && <CacheLine tokens={newest} />}
      <h3>{words.change}</h3>
      <Changes change={change} />
      {prefix.reasons.length > 0 && <p className="warn">{words.generation}{words.colon}{prefix.reasons.join(", ")}</p>}
      <h3>{words.sent}</h3>
      {prefix.hash !== undefined && <p><span className="quiet">{words.prefix}</span> <code>{prefix.hash}</code></p>}
      {sent ? <SentParts sent={sent} change={change} /> : <Digests prefix={prefix} />}
      {session === null && <p className="quiet">{words.recordingOnly}</p>}
      {session !== null && !sent && !failed && <p className="quiet" role="status">{words.loading}</p>}
      {failed && <p className="warn" role="alert">{words.failed} <button type="button" className="small" onClick={again}>{words.again}</button></p>}
    </>
  );
}

function Digests({ prefix }: { readonly prefix: Prefix }) {
  return (
    <ul className="digests">
      {Object.entries(prefix.components).map(([name, digest]) => <li key={name}>{name} <code>{digest}</code></li>)}
    </ul>
  );
}

// What of a call's input the provider's cache held, what it took in, and what was read anew.
function CacheLine({ tokens }: { readonly tokens: Tokens }) {
  const words = useWords(table);
  const whole = contextOf(tokens);
  const parts = [["cacheRead", words.cacheRead], ["cacheWrite", words.cacheWritten], ["input", words.notCached]] as const;
  return (
    <>
      <p className="cache-line" aria-hidden="true">
        {parts.map(([each]) => <span key={each} className={each} style={{ width: extent(tokens[each], whole) }} />)}
      </p>
      <p className="quiet legend">
        {words.cachePrefix}{words.colon}{parts.map(([each, name]) => <span key={each}><i className={each} aria-hidden="true" />{`${count(tokens[each])} ${name}`}</span>)}
      </p>
    </>
  );
}

function Changes({ change }: { readonly change: PrefixChange }) {
  const { changes } = useWords(table);
  if (change.isSame === null) return <p className="quiet">{changes.unknown}</p>;
  if (change.isSame) return <p>{changes.same}</p>;
  if (change.beside) return <p>{changes.beside}</p>;
  return (
    <ul>
      {(["changed", "added", "removed"] as const).flatMap((kind) => change[kind].map((name) => <li key={name}>{changes[kind]}: <code>{name}</code></li>))}
    </ul>
  );
}

interface Asked {
  readonly key: string;
  readonly sent: api.SentPrompt | null;
  readonly failed: boolean;
}

function useSent(session: string | null, turnId: string | null, calls: number) {
  const [tries, setTries] = useState(0);
  const [asked, setAsked] = useState<Asked | null>(null);
  const key = `${session ?? ""} ${turnId ?? ""}`;
  useEffect(() => {
    if (session === null || turnId === null) return;
    const ending = new AbortController();
    client.sentPrompt(session, turnId, { signal: ending.signal }).then(
      (sent) => setAsked({ key, sent, failed: false }),
      () => ending.signal.aborted || setAsked({ key, sent: null, failed: true }),
    );
    return () => ending.abort();
  }, [session, turnId, key, calls, tries]);
  const here = asked?.key === key ? asked : null;
  return { sent: here?.sent ?? undefined, failed: here?.failed === true, again: () => setTries(tries + 1) };
}
