// The fields of a prompt, to be filled in before it is written into the message.

import { type SyntheticEvent, useState } from "react";

import { Dialog } from "../Dialog";
import { useWords } from "../state";
import { fieldsOf, filled, type SavedPrompt } from "./saved-prompts";
import { words as table } from "./library-words";

interface Props {
  readonly prompt: SavedPrompt;
  readonly onDone: (text: string) => void;
  readonly onClose: () => void;
}

export function FillDialog({ prompt, onDone, onClose }: Props) {
  const words = useWords(table);
  const fields = fieldsOf(prompt.text);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    event.stopPropagation(); // to the form of the message, within which this dialog is asked for
    onClose();
    onDone(filled(prompt.text, Object.fromEntries(fields.map((name) => [name, values[name] ?? ""]))));
  };
  return (
    <Dialog title={words.fill(prompt.name)} onClose={onClose}>
      <form onSubmit={submit}>
        {fields.map((name, place) => (
          <label key={name} className="field"><span dir="auto">{name}</span>
            <textarea className="fill" rows={1} dir="auto" data-first={place === 0 || undefined} value={values[name] ?? ""} onChange={({ target }) => setValues({ ...values, [name]: target.value })} />
          </label>
        ))}
        <div className="buttons">
          <button type="submit" className="primary">{words.insert}</button>
          <button type="button" className="small" onClick={onClose}>{words.cancel}</button>
        </div>
      </form>
    </Dialog>
  );
}
