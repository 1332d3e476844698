// What was remembered, in one sentence; it can be taken back, or confirmed where that is needed.

import type { Memory } from "@chat-gateway/client";
import { useState } from "react";

import { client } from "../state";
import { ActionButton, Trouble } from "./ActionButton";
import { fill, useSpeech, type Words } from "./speech";

export function spokenOf({ op, content, quarantined }: Memory, words: Words): string {
  const text = quarantined ? words.awaitsConfirmation : (words.memoryOps as Record<string, string>)[op] ?? op;
  return fill(text, { content: content === undefined ? "" : fill(words.quoted, { text: content }) });
}

export function MemoryCard({ data }: { readonly data: Memory }) {
  const speech = useSpeech();
  const { words } = speech;
  const [done, setDone] = useState<string | null>(null);
  const [trouble, setTrouble] = useState<unknown>(null);
  const { op, memory_id: id, version, reason, quarantined } = data;
  const after = async (work: Promise<unknown>, result: string) => {
    await work;
    setDone(result);
  };
  return (
    <div className={`note memory ${op}`} title={reason}>
      <span dir="auto">{done ?? spokenOf(data, words)}</span>{" "}
      {op === "remembered" && done === null && (
        <span className="choices">
          {quarantined && (
            <ActionButton onTrouble={setTrouble}
              act={() => after(client.confirmMemory(id, version), fill(words.memoryOps.confirmed, { content: fill(words.quoted, { text: data.content ?? "" }) }))}>
              {words.confirm}
            </ActionButton>
          )}
          <ActionButton onTrouble={setTrouble} act={() => after(client.forget(id, version), words.undone)}>{words.undo}</ActionButton>
        </span>
      )}
      <Trouble>{trouble !== null && speech.problem(trouble)}</Trouble>
    </div>
  );
}
