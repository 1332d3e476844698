// The reader's own key of the model's provider: whether there is one, another, or none. Nobody is shown it again.

import type { api } from "@chat-gateway/client";
import { useEffect, useState } from "react";

import { useAttempt } from "./attempt";
import { caller } from "./caller";
import { words as table } from "./frame-words";
import { localeOf } from "./pages/locale-formats";
import { inWords } from "./pages/problems";
import { useLanguage } from "./settings";
import { client, useWords } from "./state";
import { useStore } from "./store";

const UNKNOWN: api.ProviderKeyReply = { is_set: true, accepted: true }; // it does not open: it can be replaced or removed

export function ProviderKey() {
  const words = useWords(table);
  const language = useLanguage();
  const maySet = useStore(caller, ({ me }) => me?.scopes.includes("chat") ?? true);
  const [found, setFound] = useState<api.ProviderKeyReply | null>(null);
  const [failure, setFailure] = useState<Error | null>(null);
  const [key, setKey] = useState("");
  const [outcome, attempt] = useAttempt();
  useEffect(() => {
    let isShown = true;
    client.providerKey().then((reply) => isShown && setFound(reply), (error: unknown) => isShown && setFailure(error as Error));
    return () => { isShown = false; };
  }, []);
  const state = found ?? (failure && UNKNOWN);
  if (!state?.accepted) return null;
  const put = async () => {
    setFound(await client.setProviderKey(key.trim()));
    setFailure(null);
    setKey("");
    return words.providerKeySaved;
  };
  const remove = async () => {
    await client.removeProviderKey();
    setFound(await client.providerKey());
    setFailure(null);
    return words.providerKeyRemoved;
  };
  const since = new Date(state.set_at ?? 0).toLocaleDateString(localeOf(language), { dateStyle: "medium" });
  return (
    <form className="field" onSubmit={(event) => {
      event.preventDefault();
      if (key.trim()) void attempt(put);
    }}>
      <label htmlFor="provider-key" className="faint">{words.providerKey}</label>
      {failure
        ? <p className="trouble" role="alert">{inWords(failure, language)}</p>
        : <p id="provider-key-state">{state.is_set ? words.providerKeySet(state.ending ?? "", since) : words.noProviderKey}<br />{words.servedBy[state.serving ?? "nobody"]}</p>}
      {maySet && (
        <>
          <input
            id="provider-key" type="password" autoComplete="off" spellCheck={false} minLength={8} maxLength={512} required
            value={key} placeholder={state.is_set ? words.otherProviderKey : ""} aria-describedby={failure ? undefined : "provider-key-state"}
            onChange={({ target }) => setKey(target.value)}
          />
          <div className="buttons">
            <button type="submit" className="small">{words.setProviderKey}</button>
            {state.is_set && <button type="button" className="small" onClick={() => void attempt(remove)}>{words.removeProviderKey}</button>}
          </div>
        </>
      )}
      <small role="status" className={outcome.isFailure ? "trouble" : "faint"}>{outcome.text}</small>
    </form>
  );
}
