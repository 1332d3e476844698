// A form for what a memory says.

import type { api } from "@chat-gateway/client";
import { useId, useState } from "react";

import { useWords } from "../../state";
import { words as table } from "../page-words";

export interface Given {
  readonly content: string;
  readonly importance: number;
  readonly type: api.MemoryItem["type"];
}

interface Props {
  readonly fields: readonly (keyof Given)[];
  readonly labels: { readonly content: string; readonly done: string };
  readonly given: Given;
  readonly onDone: (given: Given) => Promise<unknown>;
  readonly onCancel: () => void;
}

const TYPES = ["preference", "fact", "event", "project_decision", "action_item", "constraint", "risk"] as const;

export function MemoryForm({ fields, labels, given, onDone, onCancel }: Props) {
  const { memory: words, ...common } = useWords(table);
  const [value, setValue] = useState(given);
  const [isBusy, setBusy] = useState(false);
  const id = useId();
  const types: readonly Given["type"][] = TYPES.some((each) => each === given.type) ? TYPES : [given.type, ...TYPES];
  return (
    <form className="page-form" onSubmit={(event) => {
      event.preventDefault();
      setBusy(true);
      void onDone(value).finally(() => setBusy(false));
    }}>
      <label htmlFor={`${id}-content`}>{labels.content}</label>
      <textarea id={`${id}-content`} rows={3} required autoFocus dir="auto" value={value.content}
        onChange={(event) => setValue({ ...value, content: event.target.value })} />
      <div className="buttons">
        {fields.includes("importance") && (
          <label>{words.weight} <select value={value.importance} onChange={(event) => setValue({ ...value, importance: Number(event.target.value) })}>
            {[1, 2, 3, 4, 5].map((each) => <option key={each}>{each}</option>)}
          </select></label>
        )}
        {fields.includes("type") && (
          <label>{words.type} <select value={value.type} onChange={(event) => setValue({ ...value, type: event.target.value as Given["type"] })}>
            {types.map((each) => <option key={each} value={each}>{words.types[each]}</option>)}
          </select></label>
        )}
        <button type="submit" className="primary" disabled={isBusy}>{labels.done}</button>
        <button type="button" className="small" onClick={onCancel}>{common.cancel}</button>
      </div>
    </form>
  );
}
