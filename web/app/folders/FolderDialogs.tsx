// What is asked about a folder: a name, instructions, whether to delete it.

import { type ReactNode, type SyntheticEvent, useState } from "react";

import { Dialog } from "../Dialog";
import { inWords } from "../pages/problems";
import { chats } from "../sidebar/chats";
import { useLanguage } from "../settings";
import { useWords } from "../state";
import type { Asked } from "./Folders";
import { changeFolder, createFolder, deleteFolder, type Folder, openFolder } from "./folders";
import { words as table } from "./folder-words";

const MAX_INSTRUCTIONS = 131_072; // as the server takes them

interface Props {
  readonly asked: Asked;
  /** null: a new one. */
  readonly folder: Folder | null;
  readonly onClose: () => void;
  /** Of a new one. */
  readonly onMade?: (folder: Folder) => void;
}

export function FolderDialog({ asked, folder, onClose, onMade }: Props) {
  const words = useWords(table);
  const [name, setName] = useState(folder?.name ?? "");
  const [text, setText] = useState(folder?.instructions ?? "");
  if (folder === null) {
    return (
      <Asking title={words.newFolder} act={words.create} onClose={onClose} isReady={name.trim() !== ""} onDone={async () => {
        const made = await createFolder(name.trim());
        openFolder(made.id, true);
        onMade?.(made);
      }}><NameField name={name} onChange={setName} /></Asking>
    );
  }
  if (asked === "rename") {
    return (
      <Asking title={words.rename} act={words.save} onClose={onClose} isReady={name.trim() !== ""} onDone={() => changeFolder(folder.id, { name: name.trim() })}>
        <NameField name={name} onChange={setName} />
      </Asking>
    );
  }
  if (asked === "instructions") {
    return (
      <Asking title={words.instructionsOf} act={words.save} onClose={onClose} isReady onDone={() => changeFolder(folder.id, { instructions: text.trim() })}>
        <p id="folder-instructions" className="faint">{words.folderInstructions}</p>
        <textarea className="instructions" rows={8} dir="auto" data-first aria-label={words.instructionsOf} aria-describedby="folder-instructions" maxLength={MAX_INSTRUCTIONS}
          value={text} onChange={({ target }) => setText(target.value)} />
      </Asking>
    );
  }
  return (
    <Asking title={words.deleteTitle} act={words.deleteNow} isDangerous onClose={onClose} isReady onDone={async () => {
      await deleteFolder(folder.id);
      await chats.refresh();
    }}>
      <p dir="auto"><b>{folder.name}</b></p>
      <p>{words.deleteHint} {words.deleteShared}</p>
    </Asking>
  );
}

function NameField({ name, onChange }: { readonly name: string; readonly onChange: (name: string) => void }) {
  const words = useWords(table);
  return (
    <label className="field">{words.name}
      <input type="text" dir="auto" value={name} maxLength={100} required data-first onChange={({ target }) => onChange(target.value)} />
    </label>
  );
}

interface AskingProps {
  readonly title: string;
  readonly act: string;
  readonly isDangerous?: boolean;
  readonly isReady: boolean;
  readonly onDone: () => Promise<void>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

// A dialog with a question, what answers it, and what came of that where it failed.
export function Asking({ title, act, isDangerous = false, isReady, onDone, onClose, children }: AskingProps) {
  const words = useWords(table);
  const language = useLanguage();
  const [trouble, setTrouble] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SyntheticEvent) => {
    event.preventDefault();
    if (!isReady || isBusy) return;
    setBusy(true);
    try {
      await onDone();
      onClose();
    } catch (error) {
      setBusy(false);
      setTrouble(inWords(error as Error, language));
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="asking" onSubmit={(event) => void submit(event)}>
        {children}
        <p role="alert" className="trouble">{trouble}</p>
        <div className="buttons">
          <button type="submit" className={isDangerous ? "primary dangerous" : "primary"} disabled={isBusy}>{act}</button>
          <button type="button" className="small" data-first={isDangerous || undefined} onClick={onClose}>{words.cancel}</button>
        </div>
      </form>
    </Dialog>
  );
}
