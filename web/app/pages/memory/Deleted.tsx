// What is left of a memory that was deleted: that it was there, until it is erased.

import type { api } from "@chat-gateway/client";
import { useState } from "react";

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

export function Deleted({ deleted: { id, type, deleted_at: at }, attempt, onGone }: Props) {
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
  return (
    <li className="card row">
      <span>{words.types[type]} <small>{words.deletedAt(time(at))}</small></span>
      <button type="button" className="small" onClick={() => ask(true)}>{words.erase}</button>
      {isAsked && <EraseQuestion what={null} onErase={() => void erase()} onClose={() => ask(false)} />}
    </li>
  );
}
