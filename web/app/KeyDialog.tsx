import { useState } from "react";

import { Dialog } from "./Dialog";
import { answerKey, keepKey, signInAddress, useApp, useWords } from "./state";
import { words as table } from "./frame-words";

export function KeyDialog() {
  const needed = useApp((state) => state.keyNeeded);
  return needed && <KeyForm {...needed} />;
}

interface Props {
  readonly wasWrong: boolean;
  readonly signIn: string | null;
  readonly keepsKeys: boolean;
}

function KeyForm({ wasWrong, signIn, keepsKeys }: Props) {
  const words = useWords(table);
  const [key, setKey] = useState("");
  const [isKept, setKept] = useState(false);
  const submit = () => {
    const given = key.trim();
    if (given === "") return;
    if (keepsKeys && isKept) keepKey(given).catch(() => answerKey(given)); // without a network the tab has it
    else answerKey(given);
  };
  return (
    <Dialog title={signIn === null ? words.keyTitle : words.signInTitle}>
      {signIn !== null && <a className="primary sign-in" href={signInAddress(signIn)}>{words.signIn}</a>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <p role={wasWrong ? "alert" : undefined} className={wasWrong ? "trouble" : "faint"}>{wasWrong ? words.keyWrong : signIn === null ? words.keyHint : words.keyInstead}</p>
        <input
          type="password" autoComplete="current-password" aria-label={words.keyLabel} required
          value={key} onChange={(event) => setKey(event.target.value)}
        />
        {keepsKeys && (
          <label className="check">
            <input type="checkbox" checked={isKept} onChange={({ target }) => setKept(target.checked)} />
            <span>{words.keepSignedIn}<small className="faint">{words.keepSignedInHint}</small></span>
          </label>
        )}
        <button type="submit" className={signIn === null ? "primary" : "small"}>{words.keySave}</button>
      </form>
    </Dialog>
  );
}
