// A webhook: where it is, a switch, a test, and what it was replayed.

import type { api } from "@chat-gateway/client";
import { Send, Webhook } from "lucide-react";
import { useCallback, useEffect, useState } from "react";

import { client, useWords } from "../../state";
import { useTime } from "../locale-formats";
import type { PageStatus } from "../page-status";
import { words as pageWords } from "../page-words";
import { SwitchCard } from "../SwitchCard";
import { words as table } from "./webhook-words";

interface Props {
  readonly webhook: api.WebhookReply;
  readonly attempt: PageStatus["attempt"];
  readonly onChanged: (webhook: api.WebhookReply) => void;
  readonly onGone: (id: string) => void;
}

export function WebhookCard({ webhook, attempt, onChanged, onGone }: Props) {
  const words = useWords(table);
  const [isOpen, setOpen] = useState(false);
  const { id, url, events, failures, disabled_at: disabled } = webhook;
  const isOn = disabled === undefined;
  const kinds: Readonly<Record<string, string>> = words.kinds;
  const turn = () => void attempt(async () => {
    onChanged(await client.changeWebhook(id, !isOn));
    return undefined;
  });
  const test = () => void attempt(async () => {
    const { delivered, status = 0, error = "", duration_ms: ms } = await client.testWebhook(id);
    return delivered ? words.delivered(status, ms) : words.notDelivered(error);
  });
  const state = isOn ? failures > 0 && words.failed(failures) : words.off;
  return (
    <SwitchCard icon={<Webhook aria-hidden="true" />} name={url} direction="ltr" actionOf={words.actionOf} attempt={attempt}
      facts={[events.map((each) => kinds[each] ?? each).join(", "), state].filter(Boolean).join(" · ")}
      toggle={{ isOn, label: words.isOn(url), act: turn }}
      action={{ text: words.test, icon: <Send aria-hidden="true" />, act: test }}
      details={{ text: words.deliveries, isOpen, onToggle: () => setOpen(!isOpen) }}
      deletion={{ act: () => client.deleteWebhook(id), missing: "webhook_not_found", told: words.deleted(url), onGone: () => onGone(id) }}>
      <Deliveries id={id} attempt={attempt} />
    </SwitchCard>
  );
}

function Deliveries({ id, attempt }: Pick<Props, "attempt"> & { readonly id: string }) {
  const words = useWords(table);
  const { refresh } = useWords(pageWords);
  const time = useTime();
  const kinds: Readonly<Record<string, string>> = words.kinds;
  const [found, setFound] = useState<readonly api.DeliveryReply[] | null>(null);
  const read = useCallback(() => attempt(async () => {
    setFound((await client.deliveries(id, { limit: 20 })).deliveries);
    return undefined;
  }), [attempt, id]);
  useEffect(() => void read(), [read]);
  const replay = async (delivery?: string) => {
    let replayed = "";
    const isDone = await attempt(async () => {
      replayed = words.replayed((await client.replayDeliveries(id, delivery)).replayed);
      return replayed;
    });
    if (isDone) setFound((await client.deliveries(id, { limit: 20 })).deliveries);
  };
  if (found === null) return null;
  return (
    <div className="about">
      <h2>{words.deliveries}</h2>
      {found.length === 0 && <p className="faint">{words.noDeliveries}</p>}
      <ul>
        {found.map(({ id: delivery, at, type, state, attempts, error }) => (
          <li key={delivery}>
            {time(at)}: {kinds[type] ?? type}, {words.states[state]}, {words.tries(attempts)}{error !== undefined && <> · <bdi>{error}</bdi></>}
            {state === "dead" && <> <button type="button" className="small" aria-label={words.actionOf(words.replay, delivery)} onClick={() => void replay(delivery)}>{words.replay}</button></>}
          </li>
        ))}
      </ul>
      <div className="buttons">
        <button type="button" className="small" onClick={() => void read()}>{refresh}</button>
        {found.some(({ state }) => state === "dead") && <button type="button" className="small" onClick={() => void replay()}>{words.replayDead}</button>}
      </div>
    </div>
  );
}
