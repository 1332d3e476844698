// A form for a new webhook: where it is, and what it is told of.

import type { api } from "@chat-gateway/client";
import { useState } from "react";

import { useWords } from "../../state";
import { words as pageWords } from "../page-words";
import { words as table } from "./webhook-words";

type Kind = NonNullable<api.WebhookBody["events"]>[number];

interface Props {
  readonly onDone: (body: api.WebhookBody) => Promise<unknown>;
  readonly onCancel: () => void;
}

export function WebhookForm({ onDone, onCancel }: Props) {
  const words = useWords(table);
  const { cancel } = useWords(pageWords);
  const kinds = Object.keys(words.kinds) as Kind[];
  const [url, setUrl] = useState("");
  const [events, setEvents] = useState<readonly Kind[]>(kinds);
  const [isBusy, setBusy] = useState(false);
  return (
    <form className="card page-form" aria-label={words.add} onSubmit={(event) => {
      event.preventDefault();
      setBusy(true);
      void onDone({ url, events }).finally(() => setBusy(false));
    }}>
      <label>{words.url}
        <input type="url" required autoFocus dir="ltr" maxLength={2048} placeholder="https://example.com/hooks" value={url} onChange={({ target }) => setUrl(target.value)} />
      </label>
      <fieldset>
        <legend>{words.events}</legend>
        {kinds.map((kind) => (
          <label key={kind}>
            <input type="checkbox" checked={events.includes(kind)}
              onChange={({ target }) => setEvents(target.checked ? [...events, kind] : events.filter((each) => each !== kind))} />
            {words.kinds[kind]}
          </label>
        ))}
      </fieldset>
      <div className="buttons">
        <button type="submit" className="primary" disabled={isBusy || events.length === 0}>{words.create}</button>
        <button type="button" className="small" onClick={onCancel}>{cancel}</button>
      </div>
    </form>
  );
}
