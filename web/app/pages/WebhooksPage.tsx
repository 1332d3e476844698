// Addresses that are told what happens: a form for a new one, and each with its switch and what it was told.

import type { api } from "@chat-gateway/client";
import { useState } from "react";

import { client, useWords } from "../state";
import { useCardList } from "./card-list";
import { CardsPage } from "./CardsPage";
import { WebhookCard } from "./webhooks/WebhookCard";
import { WebhookForm } from "./webhooks/WebhookForm";
import { words as table } from "./webhooks/webhook-words";

const read = async () => (await client.webhooks()).webhooks;

export default function WebhooksPage() {
  const words = useWords(table);
  const cards = useCardList(read);
  const { attempt, changed, gone } = cards;
  const [made, setMade] = useState<api.NewWebhook | null>(null);
  const add = (body: api.WebhookBody) => cards.add(async () => setMade(await client.addWebhook(body)));
  const secret = made !== null && (
    <div className="page-note" role="status">
      <p>{words.secret(made.url)}:</p>
      <code dir="ltr">{made.secret}</code>
    </div>
  );
  return (
    <CardsPage cards={cards} words={words} note={secret} form={<WebhookForm onDone={add} onCancel={() => cards.setAdding(false)} />}>
      {(webhook) => <WebhookCard key={webhook.id} webhook={webhook} attempt={attempt} onChanged={changed} onGone={gone} />}
    </CardsPage>
  );
}
