// The parts of a prompt in the order in which they were sent, with their sizes; a text where it is known.

import type { api } from "@chat-gateway/client";
import { type ReactNode } from "react";

import { useWords } from "../state";
import { count, extent } from "./numbers";
import type { PrefixChange } from "./prefix";
import { words as table } from "./inspector-words";

export interface SentPartsProps {
  readonly sent: api.SentPrompt;
  readonly change: PrefixChange;
}

export function SentParts({ sent, change }: SentPartsProps) {
  const words = useWords(table);
  const { parts, tools, messages = [] } = sent;
  const ofTools = sum(tools), ofTurn = sum(messages);
  const whole = sum(parts) + ofTools + sent.summary_tokens + sent.earlier_tokens + ofTurn;
  return (
    <>
      <p className="quiet">{sent.exact ? words.asSent : words.notAsSent} {words.barsHint}</p>
      <ul className="parts">
        <Part name={`${words.tools} (${count(tools.length)})`} tokens={ofTools} whole={whole}>
          <ul>{tools.map(({ name, tokens }) => <li key={name}><code>{name}</code> {count(tokens)}</li>)}</ul>
        </Part>
        {parts.map((part) => (
          <Part key={part.name} name={part.name} note={part.layer} tokens={part.tokens} whole={whole}
            cut={part.truncated ? words.cutFrom(count(part.tokens_before)) : ""}
            change={change.changed.includes(part.name) ? words.changes.changed : change.added.includes(part.name) ? words.changes.added : ""}>
            {part.text === undefined ? <p className="quiet">{words.digestOnly} <code>{part.digest.slice(0, 12)}</code></p> : <pre tabIndex={0}>{part.text}</pre>}
          </Part>
        ))}
        {Object.entries(sent.gone).map(([name, digest]) => (
          <li key={name} className="quiet">{name} <code>{digest}</code> · {words.changes.removed}</li>
        ))}
        {sent.summary_tokens > 0 && <Part name={words.summary} tokens={sent.summary_tokens} whole={whole} />}
        {sent.earlier_messages > 0 && (
          <Part name={words.carriedOver} note={`${words.messages}${words.colon}${count(sent.earlier_messages)}`} tokens={sent.earlier_tokens} whole={whole} />
        )}
        {messages.length > 0 && (
          <Part name={words.thisTurn} note={`${words.messages}${words.colon}${count(messages.length)}`} tokens={ofTurn} whole={whole}>
            {messages.map((message, place) => (
              <section key={place}>
                <h4>{words.roles[message.role]} · {count(message.tokens)}</h4>
                {message.blocks.map((block, number) => (
                  <div key={number}>
                    <p className="quiet"><code>{block.type}</code> {block.name} {count(block.tokens)}</p>
                    {block.text !== "" && <pre tabIndex={0} dir="auto">{block.text}</pre>}
                  </div>
                ))}
              </section>
            ))}
          </Part>
        )}
      </ul>
      <p className="quiet">{words.sumOfParts}{words.colon}{count(whole)}{words.stop}{words.estimated}</p>
    </>
  );
}

interface PartProps {
  readonly name: string;
  readonly note?: string;
  readonly tokens: number;
  readonly whole: number;
  readonly cut?: string;
  readonly change?: string;
  readonly children?: ReactNode;
}

function Part({ name, note = "", tokens, whole, cut = "", change = "", children }: PartProps) {
  const head = (
    <>
      <span className="part-name">{name} {note && <span className="quiet">{note}</span>} {[cut, change].filter(Boolean).map((text) => <span key={text} className="change">{text} </span>)}</span>
      <span className="part-size">{count(tokens)}</span>
      <span className="part-track" aria-hidden="true"><span style={{ width: extent(tokens, whole) }} /></span>
    </>
  );
  return <li>{children === undefined ? <div className="part">{head}</div> : <details><summary className="part">{head}</summary>{children}</details>}</li>;
}

function sum(items: readonly { readonly tokens: number }[]): number {
  return items.reduce((total, { tokens }) => total + tokens, 0);
}
