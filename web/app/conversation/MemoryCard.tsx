// What was remembered, in one sentence; it can be taken back, or confirmed where that is needed.

import type { Memory, Turn } from "@chat-gateway/client";
import { useState } from "react";

import { app, client, useApp } from "../state";
import { ActionButton, Trouble } from "./ActionButton";
import { fill, useSpeech, type Words } from "./speech";

export function spokenOf({ op, content, quarantined }: Pick<Memory, "op" | "content" | "quarantined">, words: Words): string {
  const text = quarantined ? words.awaitsConfirmation : (words.memoryOps as Record<string, string>)[op] ?? op;
  return fill(text, { content: content === undefined ? "" : fill(words.quoted, { text: content }) });
}

// Whether an operation tells of memories what their own cards tell then.
export const isShownByCards = ({ isOperation, parts }: Turn): boolean =>
  isOperation && parts.every((part) => part.kind === "memory" && (part.data.op === "forgotten" || part.data.op === "confirmed"));

export function MemoryCard({ data }: { readonly data: Memory }) {
  const speech = useSpeech();
  const { words } = speech;
  const [trouble, setTrouble] = useState<unknown>(null);
  const { op, memory_id: id, version, reason, quarantined } = data;
  const [isDone, setDone] = useState(false); // the event that tells it is under way
  const isReplay = useApp(({ replay }) => replay !== null);
  const newest = useApp(({ conversation }) => conversation.memories.get(id)) ?? data;
  const isGone = newest !== data && (newest.op === "forgotten" || newest.op === "erased");
  const decide = async (verb: "forget" | "confirmMemory") => {
    await client[verb](id, version, app.get().conversation.sessionId);
    setDone(true);
  };
  const spoken = isGone && op === "remembered" ? words.undone
    : newest !== data && newest.op === "confirmed" ? spokenOf({ op: "confirmed", content: data.content ?? "" }, words) : spokenOf(data, words);
  return (
    <div className={`note memory ${op}`} title={reason}>
      <span dir="auto">{spoken}</span>{" "}
      {op === "remembered" && newest === data && !isDone && !isReplay && (
        <span className="choices">
          {quarantined && (
            <ActionButton onTrouble={setTrouble} act={() => decide("confirmMemory")}>{words.confirm}</ActionButton>
          )}
          <ActionButton onTrouble={setTrouble} act={() => decide("forget")}>{words.undo}</ActionButton>
        </span>
      )}
      <Trouble>{trouble !== null && speech.problem(trouble)}</Trouble>
    </div>
  );
}
