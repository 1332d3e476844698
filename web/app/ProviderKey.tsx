// A key of the model's provider, the reader's own or their tenant's: whether there is one, another, or none. Nobody is
// shown it again.

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

interface Key {
  readonly id: string;
  readonly find: () => Promise<api.ProviderKeyReply>;
  readonly set: (key: string) => Promise<api.ProviderKeyReply>;
  readonly remove: () => Promise<void>;
}

const OWN: Key = {
  id: "provider-key", find: () => client.providerKey(), set: (key) => client.setProviderKey(key), remove: () => client.removeProviderKey(),
};
const TENANTS: Key = {
  id: "tenant-provider-key",
  find: () => client.tenantProviderKey(), set: (key) => client.setTenantProviderKey(key), remove: () => client.removeTenantProviderKey(),
};

// That of the reader, and for admins that of all in their tenant who have none.
export function ProviderKeys() {
  const words = useWords(table);
  const maySet = useStore(caller, ({ me }) => me?.scopes.includes("chat") ?? true);
  const mayForAll = useStore(caller, ({ me }) => me !== null && me.is_admin && me.scopes.includes("admin"));
  return (
    <>
      <ProviderKey of={OWN} label={words.providerKey} maySet={maySet} uses={(state) => words.servedBy[state.serving ?? "nobody"]} />
      {mayForAll && <ProviderKey of={TENANTS} label={words.tenantProviderKey} maySet uses={() => words.tenantProviderKeyHint} />}
    </>
  );
}

interface Props {
  readonly of: Key;
  readonly label: string;
  readonly maySet: boolean;
  readonly uses: (state: api.ProviderKeyReply) => string;
}

function ProviderKey({ of, label, maySet, uses }: Props) {
  const words = useWords(table);
  const language = useLanguage();
  const [found, setFound] = useState<api.ProviderKeyReply | null>(null);
  const [failure, setFailure] = useState<Error | null>(null);
  const [key, setKey] = useState("");
  const [outcome, attempt] = useAttempt();
  useEffect(() => {
    let isShown = true;
    of.find().then((reply) => isShown && setFound(reply), (error: unknown) => isShown && setFailure(error as Error));
    return () => { isShown = false; };
  }, [of]);
  const state = found ?? (failure && UNKNOWN);
  if (!state?.accepted) return null;
  const put = async () => {
    setFound(await of.set(key.trim()));
    setFailure(null);
    setKey("");
    return words.providerKeySaved;
  };
  const remove = async () => {
    await of.remove();
    setFound(await of.find());
    setFailure(null);
    return words.providerKeyRemoved;
  };
  const since = new Date(state.set_at ?? 0).toLocaleDateString(localeOf(language), { dateStyle: "medium" });
  return (
    <form className="field" onSubmit={(event) => {
      event.preventDefault();
      if (key.trim()) void attempt(put);
    }}>
      <label htmlFor={of.id} className="faint">{label}</label>
      {failure
        ? <p className="trouble" role="alert">{inWords(failure, language)}</p>
        : <p id={`${of.id}-state`}>{state.is_set ? words.providerKeySet(state.ending ?? "", since) : words.noProviderKey}<br />{uses(state)}</p>}
      {maySet && (
        <>
          <input
            id={of.id} type="password" autoComplete="off" spellCheck={false} minLength={8} maxLength={512} required
            value={key} placeholder={state.is_set ? words.otherProviderKey : ""} aria-describedby={failure ? undefined : `${of.id}-state`}
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
