// What was remembered, in one sentence; it can be taken back, or confirmed where that is needed.

import type { Memory, Turn } from "@chat-gateway/client";
import { useState } from "react";

import { useMayWrite } from "../sidebar/shared-chats";
import { app, client, useApp } from "../state";
import { ActionButton, Trouble } from "./ActionButton";
import { fill, useSpeech, type Words } from "./speech";

export function spokenOf({ op, content, quarantined }: Pick<Memory, "op" | "content" | "quarantined">, words: Words): string {
  const text = quarantined ? words.awaitsConfirmation : (words.memoryOps as Record<string, string>)[op] ?? op;
  return fill(text, { content: content === undefined ? "" : fill(words.quoted, { text: content }) });
}

const TOLD_BELOW: ReadonlySet<string> = new Set(["forgotten", "confirmed", "restored"]);

// Whether an operation tells of memories what their own cards tell then.
export const isShownByCards = ({ isOperation, parts }: Turn): boolean =>
  isOperation && parts.every((part) => part.kind === "memory" && TOLD_BELOW.has(part.data.op));

export function MemoryCard({ data }: { readonly data: Memory }) {
  const speech = useSpeech();
  const { words } = speech;
  const [trouble, setTrouble] = useState<unknown>(null);
  const { op, memory_id: id, version, reason, quarantined, cause, sources } = data;
  const [isDone, setDone] = useState(false); // the event that tells it is under way
  const mayWrite = useMayWrite(useApp(({ conversation }) => conversation.sessionId ?? null));
  const newest = useApp(({ conversation }) => conversation.memories.get(id)) ?? data;
  const isGone = newest !== data && (newest.op === "forgotten" || newest.op === "erased");
  const decide = async (verb: "forget" | "confirmMemory") => {
    await client[verb](id, version, app.get().conversation.sessionId);
    setDone(true);
  };
  // What a correction made of it is undone by the version before; a deletion by none.
  const isCorrection = op === "corrected" && version !== undefined && version > 1;
  const restore = async () => {
    await client.restoreMemory(id, isCorrection ? version - 1 : undefined, version, app.get().conversation.sessionId);
    setDone(true);
  };
  const canRestore = op === "forgotten" || isCorrection;
  const isNewest = newest === data && !isDone && mayWrite;
  const spoken = isGone && op === "remembered" ? words.undone
    : newest !== data && newest.op === "restored" && canRestore ? spokenOf(newest, words)
    : newest !== data && newest.op === "confirmed" ? spokenOf({ op: "confirmed", content: data.content ?? "" }, words) : spokenOf(data, words);
  return (
    <div className={`note memory ${op}`} title={reason}>
      <span dir="auto">{spoken}</span>{" "}
      {cause === "outside" && canRestore && sources !== undefined && (
        <small>{fill(words.afterReading, { sources: sources.join(", ") })} </small>
      )}
      {canRestore && isNewest && (
        <span className="choices"><ActionButton onTrouble={setTrouble} act={restore}>{words.undo}</ActionButton></span>
      )}
      {op === "remembered" && isNewest && (
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
