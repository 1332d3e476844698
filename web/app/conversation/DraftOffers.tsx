// What is offered beside a draft: a long text as a file, and what another tab has written.

import { X } from "lucide-react";

import { attachPasted, type Draft, keepPasted, leaveOther, takeOther } from "./drafts";
import { useSpeech } from "./speech";

const SHOWN = 60; // characters of what another tab has written

interface Props {
  readonly session: string | null;
  readonly draft: Draft;
}

export function DraftOffers({ session, draft: { pasted, other } }: Props) {
  const { words, fill, number } = useSpeech();
  const shown = other === null ? "" : [other.text.trim(), ...other.files.map(({ name }) => name)].filter(Boolean).join(", ");
  return (
    <div id="draft-offers" role="status">
      {pasted !== null && (
        <p className="offer">
          <span>{pasted.upload === undefined ? fill(words.longText, { count: number(pasted.text.length) }) : words.isFile}</span>{" "}
          {pasted.upload === undefined && (
            <button type="button" className="small" onClick={() => attachPasted(session, words.pastedName)}>{words.asFile}</button>
          )}{" "}
          <button type="button" className="small" onClick={() => keepPasted(session)}>{pasted.upload === undefined ? words.asText : words.undo}</button>
        </p>
      )}
      {other !== null && (
        <p className="offer">
          <span dir="auto">{fill(words.otherTab, { text: shown.length > SHOWN ? `${shown.slice(0, SHOWN)}…` : shown })}</span>{" "}
          <button type="button" className="small" onClick={() => takeOther(session)}>{words.takeOther}</button>{" "}
          <button type="button" className="icon" title={words.leaveOther} aria-label={words.leaveOther} onClick={() => leaveOther(session)}><X aria-hidden /></button>
        </p>
      )}
    </div>
  );
}
