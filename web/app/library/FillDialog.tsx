// What a prompt asks for, filled in before its text is written into the message. The text may come from elsewhere, and
// where nothing is asked for it is fetched at once.

import { type SyntheticEvent, useEffect, useRef, useState } from "react";

import { Dialog } from "../Dialog";
import { inWords } from "../pages/problems";
import { useLanguage } from "../settings";
import { useWords } from "../state";
import { words as table } from "./library-words";

export interface Asked {
  readonly name: string;
  readonly about?: string;
  readonly fields: readonly { readonly name: string; readonly about?: string; readonly isRequired?: boolean }[];
  readonly fill: (values: Readonly<Record<string, string>>) => string | Promise<string>;
}

interface Props {
  readonly asked: Asked;
  readonly onDone: (text: string) => void;
  readonly onClose: () => void;
}

export function FillDialog({ asked, onDone, onClose }: Props) {
  const words = useWords(table);
  const language = useLanguage();
  const { name: title, about, fields, fill } = asked;
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [isWaiting, setWaiting] = useState(false);
  const [trouble, setTrouble] = useState("");
  const isOpen = useRef(true);
  const begun = useRef(false);
  const insert = async (given: Readonly<Record<string, string>>) => {
    setWaiting(true);
    setTrouble("");
    try {
      const text = await fill(given);
      if (!isOpen.current) return; // closed meanwhile: nobody wants it any more
      onClose();
      onDone(text);
    } catch (error) {
      setTrouble(inWords(error as Error, language));
      setWaiting(false);
    }
  };
  const latest = useRef(insert);
  useEffect(() => {
    latest.current = insert;
  });
  const isDirect = fields.length === 0;
  useEffect(() => {
    isOpen.current = true;
    if (isDirect && !begun.current) {
      begun.current = true;
      void latest.current({});
    }
    return () => { isOpen.current = false; };
  }, [isDirect]);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    event.stopPropagation(); // to the form of the message, within which this dialog is asked for
    void insert(Object.fromEntries(fields.map(({ name }) => [name, values[name] ?? ""])));
  };
  return (
    <Dialog title={words.fill(title)} onClose={onClose}>
      <form onSubmit={submit}>
        {about !== undefined && <p className="faint" dir="auto">{about}</p>}
        {fields.map(({ name, about: says, isRequired = false }, place) => (
          <label key={name} className="field"><span dir="auto">{name}</span>
            <textarea className="fill" rows={1} dir="auto" data-first={place === 0 || undefined} required={isRequired} value={values[name] ?? ""} onChange={({ target }) => setValues({ ...values, [name]: target.value })} />
            {says !== undefined && <small className="faint" dir="auto">{says}</small>}
          </label>
        ))}
        <p role="status" className="faint">{isWaiting ? words.fetching : ""}</p>
        <p role="alert" className="trouble">{trouble}</p>
        <div className="buttons">
          <button type="submit" className="primary" disabled={isWaiting}>{words.insert}</button>
          <button type="button" className="small" onClick={onClose}>{words.cancel}</button>
        </div>
      </form>
    </Dialog>
  );
}
