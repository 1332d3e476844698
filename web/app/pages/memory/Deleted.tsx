// A memory that was deleted: what it said, who deleted it and why, and the way back until its time is over.

import type { api } from "@chat-gateway/client";
import { useId, useState } from "react";

import { client, useWords } from "../../state";
import { useTime } from "../locale-formats";
import type { PageStatus } from "../page-status";
import { words as table } from "../page-words";
import { EraseQuestion } from "./EraseQuestion";

interface Props {
  readonly deleted: api.DeletedItem;
  readonly attempt: PageStatus["attempt"];
  readonly onGone: (id: string, text: string) => void;
}

export function Deleted({ deleted, attempt, onGone }: Props) {
  const { id, type, content, version, actor, reason, deleted_at: at, restorable_until: until } = deleted;
  const { memory: words } = useWords(table);
  const time = useTime();
  const [isAsked, ask] = useState(false);
  const erase = async () => {
    ask(false);
    const isDone = await attempt(async () => {
      await client.eraseMemory(id);
      return undefined;
    });
    if (isDone) onGone(id, "");
  };
  const restore = async () => {
    const isDone = await attempt(async () => {
      await client.restoreMemory(id, undefined, version);
      return undefined;
    });
    if (isDone) onGone(id, words.restored);
  };
  const said = useId();
  return (
    <li className="card">
      <p className="gist" dir="auto" id={said}>{content}</p>
      <small>{words.types[type]} · {words.deletedAt(time(at))} · {words.deletedBy(actor, time(until))}</small>
      <p className="faint" dir="auto">{reason}</p>
      <div className="buttons">
        <button type="button" className="small" aria-describedby={said} onClick={() => void restore()}>{words.restore}</button>
        <button type="button" className="small" aria-describedby={said} onClick={() => ask(true)}>{words.erase}</button>
      </div>
      {isAsked && <EraseQuestion what={content} onErase={() => void erase()} onClose={() => ask(false)} />}
    </li>
  );
}
