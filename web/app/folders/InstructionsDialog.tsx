// The instructions of a chat: how the model is to answer there. They can be a persona's, or become one.

import { useEffect, useState } from "react";

import { readSavedPrompts, savePrompt, usePersonas } from "../library/saved-prompts";
import { showNotice } from "../sidebar/notice";
import { client, useWords } from "../state";
import { beginWith, useBeginning } from "./beginning";
import { Asking } from "./FolderDialogs";
import { words as table } from "./folder-words";

const MAX_INSTRUCTIONS = 131_072; // as the server takes them

interface Props {
  /** null: of the next new chat. */
  readonly session: string | null;
  readonly onClose: () => void;
}

export function InstructionsDialog({ session, onClose }: Props) {
  const words = useWords(table);
  const personas = usePersonas();
  const { instructions: first } = useBeginning();
  const [text, setText] = useState<string | null>(session === null ? first ?? "" : null);
  const [persona, setPersona] = useState("");
  const [name, setName] = useState<string | null>(null);
  useEffect(() => {
    let isHere = true;
    void readSavedPrompts();
    if (session !== null) client.session(session).then(({ instructions = "" }) => isHere && setText((now) => now ?? instructions), () => isHere && setText((now) => now ?? ""));
    return () => { isHere = false; };
  }, [session]);
  const save = async () => {
    const given = (text ?? "").trim();
    if (name !== null && name.trim() !== "") {
      await savePrompt({ kind: "persona", name: name.trim(), text: given });
      showNotice({ text: words.personaSaved(name.trim()) });
    }
    if (session === null) beginWith({ instructions: given === "" ? null : given, persona: persona === "" ? null : persona });
    else {
      await client.changeSession(session, { instructions: given });
      if (name === null) showNotice({ text: words.saved });
    }
  };
  return (
    <Asking title={words.instructionsOf} act={words.save} isReady={text !== null && (name === null || (name.trim() !== "" && text.trim() !== ""))} onClose={onClose} onDone={save}>
      <p id="chat-instructions" className="faint">{words.instructionsHint}</p>
      {personas.length > 0 && (
        <label className="field">{words.beginFrom}
          <select value={persona} onChange={({ target }) => {
            setPersona(target.value);
            const chosen = personas.find(({ id }) => id === target.value);
            if (chosen) setText(chosen.text);
          }}>
            <option value="">{words.choosePersona}</option>
            {personas.map((each) => <option key={each.id} value={each.id}>{each.name}</option>)}
          </select>
        </label>
      )}
      <textarea className="instructions" rows={8} dir="auto" data-first aria-label={words.instructionsLabel} aria-describedby="chat-instructions" maxLength={MAX_INSTRUCTIONS}
        value={text ?? ""} disabled={text === null} onChange={({ target }) => setText(target.value)} />
      {name === null ? (
        <button type="button" className="small quiet" disabled={(text ?? "").trim() === ""} onClick={() => setName("")}>{words.saveAsPersona}</button>
      ) : (
        <label className="field">{words.personaName}
          <input type="text" dir="auto" value={name} maxLength={100} onChange={({ target }) => setName(target.value)} />
        </label>
      )}
    </Asking>
  );
}
