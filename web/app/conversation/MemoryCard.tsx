// What was remembered, in one sentence; it can be taken back, or confirmed where that is needed.

import type { Memory } from "@chat-gateway/client";
import { useState } from "react";

import { client } from "../state";
import { createStore, useStore } from "../store";
import { ActionButton, Trouble } from "./ActionButton";
import { fill, useSpeech, type Words } from "./speech";

export function spokenOf({ op, content, quarantined }: Pick<Memory, "op" | "content" | "quarantined">, words: Words): string {
  const text = quarantined ? words.awaitsConfirmation : (words.memoryOps as Record<string, string>)[op] ?? op;
  return fill(text, { content: content === undefined ? "" : fill(words.quoted, { text: content }) });
}

// What became of memories here, by id and version: no event of the chat tells it, and a card is drawn anew now and then.
const outcomes = createStore<Readonly<Record<string, "confirmed" | "undone">>>({});

export function MemoryCard({ data }: { readonly data: Memory }) {
  const speech = useSpeech();
  const { words } = speech;
  const [trouble, setTrouble] = useState<unknown>(null);
  const { op, memory_id: id, version, reason, quarantined } = data;
  const key = `${id} ${version ?? ""}`;
  const outcome = useStore(outcomes, (all) => all[key]);
  const after = async (work: Promise<unknown>, result: "confirmed" | "undone") => {
    await work;
    outcomes.set({ [key]: result });
  };
  const spoken = outcome === undefined ? spokenOf(data, words)
    : outcome === "undone" ? words.undone : spokenOf({ op: outcome, content: data.content ?? "" }, words);
  return (
    <div className={`note memory ${op}`} title={reason}>
      <span dir="auto">{spoken}</span>{" "}
      {op === "remembered" && outcome === undefined && (
        <span className="choices">
          {quarantined && (
            <ActionButton onTrouble={setTrouble} act={() => after(client.confirmMemory(id, version), "confirmed")}>{words.confirm}</ActionButton>
          )}
          <ActionButton onTrouble={setTrouble} act={() => after(client.forget(id, version), "undone")}>{words.undo}</ActionButton>
        </span>
      )}
      <Trouble>{trouble !== null && speech.problem(trouble)}</Trouble>
    </div>
  );
}
