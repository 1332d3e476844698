import { Dialog } from "../../Dialog";
import { useWords } from "../../state";
import { words as table } from "../page-words";

interface Props {
  readonly what: string | null;
  readonly onErase: () => void;
  readonly onClose: () => void;
}

// Asks before something is erased that cannot be brought back.
export function EraseQuestion({ what, onErase, onClose }: Props) {
  const { memory: words, cancel } = useWords(table);
  return (
    <Dialog title={words.eraseTitle} onClose={onClose}>
      {what !== null && <p className="content" dir="auto">{what}</p>}
      <p>{words.eraseHint}</p>
      <div className="buttons">
        <button type="button" className="primary dangerous" onClick={onErase}>{words.eraseNow}</button>
        <button type="button" className="small" data-first onClick={onClose}>{cancel}</button>
      </div>
    </Dialog>
  );
}
