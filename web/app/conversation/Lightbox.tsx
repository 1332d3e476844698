// A picture as large as the window has room for; arrow keys lead to the others of its message.

import { ChevronLeft, ChevronRight, Download } from "lucide-react";
import { type KeyboardEvent, useState } from "react";

import { useAttempt } from "../attempt";
import { Dialog } from "../Dialog";
import { useWords } from "../state";
import { saveArtifact } from "./artifact-files";
import { closeEnlarged, type Enlarged } from "./enlarged";
import { Picture } from "./Picture";
import { words as table } from "./picture-words";
import { useSpeech } from "./speech";
import "./lightbox.css";

export default function Lightbox({ shown }: { readonly shown: Enlarged }) {
  const words = useWords(table);
  const speech = useSpeech();
  const { pictures } = shown;
  const [at, setAt] = useState(shown.at);
  const [broken, setBroken] = useState<ReadonlySet<string>>(new Set());
  const [outcome, attempt] = useAttempt();
  const picture = pictures[at];
  if (!picture) return null;
  const { ref, name = ref, size } = picture;
  const step = (by: number) => setAt((at + by + pictures.length) % pictures.length);
  const press = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined || pictures.length < 2) return;
    event.preventDefault();
    step(by);
  };
  return (
    <Dialog title={name} className="lightbox" onClose={closeEnlarged}>
      <div className="lightbox-body" onKeyDown={press}>
        <div className="lightbox-picture" data-first tabIndex={0} role="group" aria-label={words.picture(name)}>
          {broken.has(ref) ? <p role="alert">{words.broken}</p>
            : <Picture key={ref} file={picture} onTrouble={() => setBroken(new Set([...broken, ref]))} />}
        </div>
        <div className="lightbox-foot">
          {pictures.length > 1 && (
            <>
              <button type="button" className="icon" title={words.before} aria-label={words.before} onClick={() => step(-1)}><ChevronLeft aria-hidden /></button>
              <span className="faint" role="status">{words.place(at + 1, pictures.length)}</span>
              <button type="button" className="icon" title={words.after} aria-label={words.after} onClick={() => step(1)}><ChevronRight aria-hidden /></button>
            </>
          )}
          {size !== undefined && <small>{speech.bytes(size)}</small>}
          <button type="button" className="small" onClick={() => void attempt(async () => {
            await saveArtifact(picture);
            return "";
          })}><Download aria-hidden />{words.download}</button>
        </div>
        {outcome.text !== "" && <small role="status" className={outcome.isFailure ? "trouble" : "faint"}>{outcome.text}</small>}
      </div>
    </Dialog>
  );
}
