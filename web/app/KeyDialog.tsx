import { useState } from "react";

import { Dialog } from "./Dialog";
import { answerKey, signInAddress, useApp, useWords } from "./state";
import { words as table } from "./frame-words";

export function KeyDialog() {
  const needed = useApp((state) => state.keyNeeded);
  return needed && <KeyForm {...needed} />;
}

function KeyForm({ wasWrong, signIn }: { readonly wasWrong: boolean; readonly signIn: string | null }) {
  const words = useWords(table);
  const [key, setKey] = useState("");
  return (
    <Dialog title={signIn === null ? words.keyTitle : words.signInTitle}>
      {signIn !== null && <a className="primary sign-in" href={signInAddress(signIn)}>{words.signIn}</a>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim()) answerKey(key.trim());
        }}
      >
        <p role={wasWrong ? "alert" : undefined}>{wasWrong ? words.keyWrong : signIn === null ? words.keyHint : words.keyInstead}</p>
        <input
          type="password" autoComplete="current-password" aria-label={words.keyLabel} required
          value={key} onChange={(event) => setKey(event.target.value)}
        />
        <button type="submit" className={signIn === null ? "primary" : "small"}>{words.keySave}</button>
      </form>
    </Dialog>
  );
}
