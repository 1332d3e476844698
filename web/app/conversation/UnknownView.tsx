// An event of a type that came with a later version of the gateway, as it is.

import type { UnknownEvent } from "@chat-gateway/client";

import { useSpeech } from "./format";
import { shown } from "./shown";

export function UnknownView({ event }: { readonly event: UnknownEvent }) {
  const { words, fill } = useSpeech();
  return (
    <details className="step unknown">
      <summary>{fill(words.unknownEvent, { type: event.type })}</summary>
      <pre tabIndex={0} dir="ltr">{shown(event.data)}</pre>
    </details>
  );
}
