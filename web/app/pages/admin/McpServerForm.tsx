// A form for an MCP server at an address.

import type { api } from "@chat-gateway/client";
import { useId, useState } from "react";

import { useWords } from "../../state";
import { words as pageWords } from "../page-words";
import { headersOf } from "./header-lines";
import { words as table } from "./admin-words";

type Transport = NonNullable<api.McpServerBody["transport"]>;
const TRANSPORTS: readonly Transport[] = ["auto", "http", "sse"];

interface Props {
  /** Absent: a new one. */
  readonly server?: api.McpServerRow;
  readonly onDone: (name: string, body: api.McpServerBody) => Promise<unknown>;
  readonly onCancel: () => void;
}

export function McpServerForm({ server, onDone, onCancel }: Props) {
  const words = useWords(table);
  const { cancel } = useWords(pageWords);
  const hint = useId();
  const [name, setName] = useState(server?.name ?? "");
  const [url, setUrl] = useState(server?.url ?? "");
  const [transport, setTransport] = useState<Transport>(server?.transport ?? "auto");
  const [headers, setHeaders] = useState("");
  const [trust, setTrust] = useState(server?.trust_hints ?? false);
  const [isBusy, setBusy] = useState(false);
  const given = headersOf(headers);
  return (
    <form className="card page-form" aria-label={server ? words.actionOf(words.edit, server.name) : words.add} onSubmit={(event) => {
      event.preventDefault();
      if (given === null) return;
      setBusy(true);
      void onDone(name, { url: url.trim(), transport, trust_hints: trust, ...(given ? { headers: given } : {}) }).finally(() => setBusy(false));
    }}>
      {!server && (
        <label>{words.name}
          <input required autoFocus dir="ltr" maxLength={32} pattern="[a-z0-9]+([_\-][a-z0-9]+)*" aria-describedby={hint} value={name} onChange={({ target }) => setName(target.value)} />
          <small id={hint}>{words.nameHint}</small>
        </label>
      )}
      <label>{words.url}
        <input type="url" required dir="ltr" maxLength={2048} placeholder="https://example.com/mcp" value={url} onChange={({ target }) => setUrl(target.value)} />
      </label>
      <label>{words.transport}
        <select value={transport} onChange={({ target }) => setTransport(target.value as Transport)}>
          {TRANSPORTS.map((each) => <option key={each} value={each}>{words.transports[each]}</option>)}
        </select>
      </label>
      <label>{words.headers}
        <textarea className="code" rows={2} dir="ltr" spellCheck={false} autoComplete="off" aria-invalid={given === null} value={headers} onChange={({ target }) => setHeaders(target.value)} />
        {given === null && <small className="trouble" role="alert">{words.headerForm}</small>}
        {server && server.headers.length > 0 && <small>{words.headersKept(server.headers.join(", "))}</small>}
      </label>
      <fieldset><label><input type="checkbox" checked={trust} onChange={({ target }) => setTrust(target.checked)} />{words.trust}</label></fieldset>
      <div className="buttons">
        <button type="submit" className="primary" disabled={isBusy || given === null}>{words.saveServer}</button>
        <button type="button" className="small" onClick={onCancel}>{cancel}</button>
      </div>
    </form>
  );
}
