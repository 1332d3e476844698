// One memory in the list: what it is, why and since when, and what can be done with it.

import type { api } from "@chat-gateway/client";
import { Ellipsis } from "lucide-react";
import { useId, useState } from "react";

import { hashOf, NEW_CHAT } from "../../page-address";
import { type Action, Menu } from "../../sidebar/Menu";
import { client, useWords } from "../../state";
import { useTime } from "../locale-formats";
import { codeOf } from "../problems";
import type { PageStatus } from "../page-status";
import { words as table } from "../page-words";
import { EraseQuestion } from "./EraseQuestion";
import { type Given, MemoryForm } from "./MemoryForm";
import { words as verbTable } from "./verb-words";

interface Props {
  readonly memory: api.MemoryItem;
  readonly attempt: PageStatus["attempt"];
  readonly onChanged: (memory: api.MemoryItem) => void;
  /** `undo`: what brings it back. */
  readonly onGone: (id: string, text: string, undo?: () => Promise<unknown>) => void;
  readonly onReplaced: () => void;
}

type Asked = "edit" | "replace" | "erase" | null;

export function MemoryRow({ memory, attempt, onChanged, onGone, onReplaced }: Props) {
  const { memory: words, save } = useWords(table);
  const verbs = useWords(verbTable);
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
    if (await change(() => client.forget(id, version))) onGone(id, verbs.forgotten, () => client.restoreMemory(id));
  };
  const restore = (to: number) => void changeAndShow(() => client.restoreMemory(id, to, version));
  const erase = async () => {
    ask(null);
    if (await change(() => client.eraseMemory(id, version))) onGone(id, "");
  };
  const { status, pinned, quarantined, source } = shown;
  const isTheirs = source !== "document";
  const { hints } = verbs;
  const more: readonly (Action | false)[] = [
    { label: pinned ? words.unpin : words.pin, explanation: pinned ? hints.unpin : hints.pin, act: () => void changeAndShow(() => client.changeMemory(id, { pinned: !pinned }, version)) },
    status !== "replaced" && { label: words.replace, explanation: hints.replace, act: () => ask("replace") },
    status === "active" && { label: words.suppress, explanation: hints.suppress, act: () => correct("suppress") },
    status === "active" && { label: words.freeze, explanation: hints.freeze, act: () => correct("freeze") },
    (status === "frozen" || status === "suppressed") && { label: words.activate, explanation: hints.activate, act: () => correct("activate") },
    { label: words.erase, explanation: hints.erase, isDangerous: true, act: () => ask("erase") },
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
            labels={asked === "edit" ? { content: words.content, done: save } : { content: words.newContent, done: words.replaceNow }}
            given={{ content: shown.content, importance: shown.importance, type: shown.type }}
            onDone={asked === "edit" ? edit : replace} onCancel={() => ask(null)}
          />
        ) : (
          <>
            {whole && <About memory={whole} onRestore={isTheirs ? restore : null} />}
            {isTheirs && (
              <div className="buttons">
                {quarantined && (
                  <button type="button" className="small" onClick={() => void changeAndShow(() => client.confirmMemory(id, version))}>{words.confirm}</button>
                )}
                <button type="button" className="small" onClick={() => ask("edit")}>{words.edit}</button>
                <button type="button" className="small" title={hints.forget} onClick={() => void forget()}>{verbs.forget}</button>
                <Menu label={verbs.more} icon={<Ellipsis aria-hidden />} actions={more.filter((each) => each !== false)} />
              </div>
            )}
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
