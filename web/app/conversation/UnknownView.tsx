// An event of a type that came with a later version of the gateway, as it is.

import type { UnknownEvent } from "@chat-gateway/client";

import { useSettings } from "../settings";
import { useSpeech } from "./speech";
import { visibleJson } from "./visible-json";

export function UnknownView({ event }: { readonly event: UnknownEvent }) {
  const { words, fill } = useSpeech();
  const isAll = useSettings(({ detail }) => detail === "all");
  return (
    <details className="step unknown" open={isAll}>
      <summary>{fill(words.unknownEvent, { type: event.type })}</summary>
      <pre tabIndex={0} dir="ltr">{visibleJson(event.data)}</pre>
    </details>
  );
}
