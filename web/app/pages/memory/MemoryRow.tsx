// One memory in the list: what it is, why and since when, and what can be done with it.

import type { api } from "@chat-gateway/client";
import { useId, useState } from "react";

import { hashOf, NEW_CHAT } from "../../page-address";
import { client, useWords } from "../../state";
import { useTime } from "../locale-formats";
import { codeOf } from "../problems";
import type { PageStatus } from "../page-status";
import { words as table } from "../page-words";
import { EraseQuestion } from "./EraseQuestion";
import { type Given, MemoryForm } from "./MemoryForm";

interface Props {
  readonly memory: api.MemoryItem;
  readonly attempt: PageStatus["attempt"];
  readonly onChanged: (memory: api.MemoryItem) => void;
  readonly onGone: (id: string, text: string) => void;
  readonly onReplaced: () => void;
}

type Asked = "edit" | "replace" | "erase" | null;

export function MemoryRow({ memory, attempt, onChanged, onGone, onReplaced }: Props) {
  const { memory: words, ...common } = useWords(table);
  const [whole, setWhole] = useState<api.MemoryDetails | null>(null);
  const [isOpen, setOpen] = useState(false);
  const [asked, ask] = useState<Asked>(null);
  const head = useId();
  const shown = whole !== null && whole.version >= memory.version ? whole : memory;
  const { id, version } = shown;

  const load = async () => {
    const read = await client.memory(id);
    setWhole(read);
    onChanged(read);
  };
  // Only what was seen is changed: a version that is newer refuses, and is shown.
  const change = async (act: () => Promise<unknown>) => {
    const isDone = await attempt(async () => {
      try {
        await act();
      } catch (error) {
        if (codeOf(error) === "memory_changed") await load();
        throw error;
      }
      return undefined;
    });
    return isDone;
  };
  const changeAndShow = async (act: () => Promise<unknown>) => {
    if (!await change(act)) return false;
    ask(null);
    await attempt(async () => {
      await load();
      return undefined;
    });
    document.getElementById(head)?.focus();
    return true;
  };
  const correct = (action: api.CorrectBody["action"]) => void changeAndShow(() => client.correctMemory({ memory_id: id, action }, version));
  const edit = ({ content, importance, type }: Given) => changeAndShow(() => client.changeMemory(id, { content, importance, type }, version));
  const replace = async ({ content }: Given) => {
    if (await changeAndShow(() => client.correctMemory({ memory_id: id, action: "replace", new_content: content }, version))) onReplaced();
  };
  const forget = async () => {
    if (await change(() => client.forget(id, version))) onGone(id, words.forgotten);
  };
  const restore = (to: number) => void changeAndShow(() => client.restoreMemory(id, to, version));
  const erase = async () => {
    ask(null);
    if (await change(() => client.eraseMemory(id, version))) onGone(id, "");
  };
  const { status, pinned, quarantined, source } = shown;
  const choices: readonly (readonly [string, () => void] | false)[] = source === "document" ? [] : [
    quarantined && [words.confirm, () => void changeAndShow(() => client.confirmMemory(id, version))],
    [words.edit, () => ask("edit")],
    [pinned ? words.unpin : words.pin, () => void changeAndShow(() => client.changeMemory(id, { pinned: !pinned }, version))],
    status === "active" && [words.suppress, () => correct("suppress")],
    status === "active" && [words.freeze, () => correct("freeze")],
    status !== "replaced" && [words.replace, () => ask("replace")],
    (status === "frozen" || status === "suppressed") && [words.activate, () => correct("activate")],
    [common.delete, () => void forget()],
    [words.erase, () => ask("erase")],
  ];
  return (
    <li className="card">
      <details open={isOpen} onToggle={(event) => {
        setOpen(event.currentTarget.open);
        if (event.currentTarget.open && !whole) void attempt(async () => {
          await load();
          return undefined;
        });
      }}>
        <summary id={head}><Head memory={shown} isToldBelow={isOpen && asked === null && whole !== null && whole.content !== whole.summary} /></summary>
        {asked === "edit" || asked === "replace" ? (
          <MemoryForm
            key={asked} fields={asked === "edit" ? ["content", "importance", "type"] : ["content"]}
            labels={asked === "edit" ? { content: words.content, done: common.save } : { content: words.newContent, done: words.replaceNow }}
            given={{ content: shown.content, importance: shown.importance, type: shown.type }}
            onDone={asked === "edit" ? edit : replace} onCancel={() => ask(null)}
          />
        ) : (
          <>
            {whole && <About memory={whole} onRestore={source === "document" ? null : restore} />}
            <div className="buttons">
              {choices.filter((each) => each !== false).map(([name, act]) => <button key={name} type="button" className="small" onClick={act}>{name}</button>)}
            </div>
          </>
        )}
      </details>
      {asked === "erase" && <EraseQuestion what={shown.content} onErase={() => void erase()} onClose={() => ask(null)} />}
    </li>
  );
}

interface HeadProps {
  readonly memory: api.MemoryItem;
  /** Its whole text is shown there. */
  readonly isToldBelow: boolean;
}

function Head({ memory: { summary, type, importance, pinned, status, quarantined, origin, tools }, isToldBelow }: HeadProps) {
  const { memory: words } = useWords(table);
  const facts = [
    words.types[type], words.importance(importance), pinned && words.pinnedMark, status !== "active" && words.states[status],
    origin !== undefined && origin !== "user" && words.origins[origin],
    origin !== "user" && tools.length > 0 && words.after(tools.join(", ")),
  ].filter((each): each is string => typeof each === "string");
  return (
    <>
      {!isToldBelow && <span className="gist" dir="auto">{summary}</span>}
      <small>{facts.join(" · ")}</small>
      {quarantined && <span className="badge-waits">{words.waits}</span>}
    </>
  );
}

interface AboutProps {
  readonly memory: api.MemoryDetails;
  readonly onRestore: ((version: number) => void) | null;
}

function About({ memory: { content, summary, flagged, tags, evidence, versions, version: now }, onRestore }: AboutProps) {
  const { memory: words } = useWords(table);
  const time = useTime();
  const wasOther = versions.some((each) => each.content !== content);
  return (
    <div className="about">
      {content !== summary && <p className="content" dir="auto">{content}</p>}
      {flagged !== undefined && <p className="trouble">{words.flagged(flagged)}</p>}
      {tags.length > 0 && <p className="faint">{tags.map((tag) => `#${tag}`).join(" ")}</p>}
      {evidence.length > 0 && (
        <>
          <h2>{words.quotes}</h2>
          <ul>
            {evidence.map(({ session_id: session, position, quote, author }) => (
              <li key={`${session}-${position}-${quote}`}>
                <span dir="auto">{author === "assistant" ? words.proposed(quote) : words.said(quote)}</span>{" "}
                <a href={hashOf({ ...NEW_CHAT, session })}>{words.inChat}</a>
              </li>
            ))}
          </ul>
        </>
      )}
      <h2>{words.history}</h2>
      <ol className="history">
        {versions.map((each, at) => (
          <li key={each.version}>
            {words.version(each.version, words.operations[each.operation], each.actor, time(each.at))}
            <small dir="auto">{each.reason}</small>
            {wasOther && each.content !== versions[at - 1]?.content && <p className="was" dir="auto">{each.content}</p>}
            {onRestore && each.version !== now && (
              <button type="button" className="small" onClick={() => onRestore(each.version)}>{words.restoreThis(each.version)}</button>
            )}
          </li>
        ))}
      </ol>
    </div>
  );
}
