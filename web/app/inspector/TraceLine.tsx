// The id of a turn's trace, and the way to it in the dashboard of the server or of the reader.

import { useSettings } from "../settings";
import { useWords } from "../state";
import { TRACE_ID, isAddress } from "../trace-address";
import { CopyButton } from "../CopyButton";
import { words as table } from "./inspector-words";

export function TraceLine({ id, url }: { readonly id: string; readonly url: string | undefined }) {
  const words = useWords(table);
  const template = useSettings(({ traceAddress }) => traceAddress);
  const address = isAddress(url) ? url : template.replaceAll(TRACE_ID, encodeURIComponent(id));
  return (
    <p className="trace">
      <span className="quiet">{words.trace}</span> <code>{id}</code>{" "}
      <CopyButton text={() => id} />{" "}
      {address !== "" && <a href={address} target="_blank" rel="noreferrer noopener">{words.openTrace}</a>}
    </p>
  );
}
