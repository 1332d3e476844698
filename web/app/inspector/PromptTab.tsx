// What the model was sent in a turn: how full its window was, what the cache held, and the parts of the prompt.

import type { Event } from "@chat-gateway/client";
import { useMemo } from "react";

import { useWords } from "../state";
import { Gauge } from "./Gauge";
import { count, share } from "./numbers";
import { changeOf, prefixOf, type PrefixChange } from "./prefix";
import { callsOf, contextOf, type Tokens } from "./usage";
import { words as table } from "./words";

export interface PromptTabProps {
  /** Of this turn, and of the one before it. */
  readonly events: readonly Event[];
  readonly before: readonly Event[];
}

export function PromptTab({ events, before }: PromptTabProps) {
  const words = useWords(table);
  const prefix = useMemo(() => prefixOf(events), [events]);
  const change = useMemo(() => changeOf(before.length > 0 ? prefixOf(before) : undefined, prefix), [before, prefix]);
  const newest = useMemo(() => callsOf(events).findLast((call) => call.tokens)?.tokens, [events]);
  if (events.length === 0) return <p className="quiet">{words.noTurn}</p>;
  return (
    <>
      {newest && <Gauge used={contextOf(newest)} />}
      {newest && <CacheLine tokens={newest} />}
      <h3>{words.change}</h3>
      <Changes change={change} />
      {prefix.reasons.length > 0 && <p className="warn">{words.generation}: {prefix.reasons.join(", ")}</p>}
      <h3>{words.sent}</h3>
      {prefix.hash !== undefined && <p><span className="quiet">{words.prefix}</span> <code>{prefix.hash}</code></p>}
      <ul className="digests">
        {Object.entries(prefix.components).map(([name, digest]) => <li key={name}>{name} <code>{digest}</code></li>)}
      </ul>
    </>
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
        {parts.map(([each]) => <span key={each} className={each} style={{ width: share(tokens[each], whole) }} />)}
      </p>
      <p className="quiet">{words.cachePrefix}: {parts.map(([each, name]) => `${count(tokens[each])} ${name}`).join(" · ")}</p>
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
