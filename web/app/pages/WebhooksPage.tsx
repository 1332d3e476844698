// Addresses that are told what happens: a form for a new one, and each with its switch and what it was told.

import type { api } from "@chat-gateway/client";
import { Plus, RefreshCw } from "lucide-react";
import { useCallback, useEffect, useState } from "react";

import { client, useWords } from "../state";
import { usePageStatus } from "./page-status";
import { StatusLine } from "./StatusLine";
import { WebhookCard } from "./webhooks/WebhookCard";
import { WebhookForm } from "./webhooks/WebhookForm";
import { words as table } from "./webhooks/webhook-words";
import { words as pageWords } from "./page-words";
import "./pages.css";

export default function WebhooksPage() {
  const words = useWords(table);
  const { refresh } = useWords(pageWords);
  const { status, attempt } = usePageStatus();
  const [list, setList] = useState<readonly api.WebhookReply[] | null>(null);
  const [isAdding, setAdding] = useState(false);
  const [made, setMade] = useState<api.NewWebhook | null>(null);
  const show = useCallback(() => attempt(async () => {
    setList((await client.webhooks()).webhooks);
    return undefined;
  }), [attempt]);
  useEffect(() => void show(), [show]);
  const add = async (body: api.WebhookBody) => {
    const isDone = await attempt(async () => {
      setMade(await client.addWebhook(body));
      return undefined;
    });
    if (!isDone) return;
    setAdding(false);
    await show();
  };
  const changed = (webhook: api.WebhookReply) =>
    setList((known) => known?.map((each) => each.id === webhook.id ? webhook : each) ?? null);
  return (
    <section className="page">
      <p className="faint">{words.hint}</p>
      <div className="page-bar">
        <button type="button" className="small" onClick={() => setAdding(!isAdding)} aria-expanded={isAdding}><Plus aria-hidden="true" />{words.add}</button>
        <button type="button" className="small" onClick={() => void show()}><RefreshCw aria-hidden="true" />{refresh}</button>
      </div>
      <StatusLine status={status} />
      {made !== null && (
        <div className="page-note" role="status">
          <p>{words.secret(made.url)}:</p>
          <code dir="ltr">{made.secret}</code>
        </div>
      )}
      {isAdding && <WebhookForm onDone={add} onCancel={() => setAdding(false)} />}
      <ul className="cards" aria-busy={list === null}>
        {list?.map((webhook) => (
          <WebhookCard key={webhook.id} webhook={webhook} attempt={attempt} onChanged={changed}
            onGone={(id) => setList((known) => known?.filter((each) => each.id !== id) ?? null)} />
        ))}
        {list?.length === 0 && <li className="empty">{words.none}</li>}
      </ul>
    </section>
  );
}
