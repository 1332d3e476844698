import { useState } from "react";

import { Dialog } from "./Dialog";
import { answerKey, useApp, useWords } from "./state";
import { words as table } from "./frame-words";

export function KeyDialog() {
  const needed = useApp((state) => state.keyNeeded);
  return needed && <KeyForm wasWrong={needed.wasWrong} />;
}

function KeyForm({ wasWrong }: { readonly wasWrong: boolean }) {
  const words = useWords(table);
  const [key, setKey] = useState("");
  return (
    <Dialog title={words.keyTitle}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim()) answerKey(key.trim());
        }}
      >
        <p role={wasWrong ? "alert" : undefined}>{wasWrong ? words.keyWrong : words.keyHint}</p>
        <input
          type="password" autoComplete="current-password" aria-label={words.keyLabel} required
          value={key} onChange={(event) => setKey(event.target.value)}
        />
        <button type="submit" className="primary">{words.keySave}</button>
      </form>
    </Dialog>
  );
}
