// Who is signed in, and the way out.

import { useState } from "react";

import { caller } from "./caller";
import { words as table } from "./frame-words";
import { inWords } from "./pages/problems";
import { useLanguage } from "./settings";
import { signOut, useWords } from "./state";
import { useStore } from "./store";

export function Account() {
  const words = useWords(table);
  const language = useLanguage();
  const me = useStore(caller, (value) => value.me);
  const [failure, setFailure] = useState<Error | null>(null);
  if (!me?.has_key) return null;
  return (
    <div className="account">
      <span>{words.signedIn(me.user_id)}{me.is_admin && <small> {words.admin}</small>}</span>
      <button type="button" className="small" onClick={() => void signOut(me.signed_in).catch(setFailure)}>{words.signOut}</button>
      {failure && <small className="trouble" role="alert">{inWords(failure, language)}</small>}
    </div>
  );
}
