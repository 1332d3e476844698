// Into which folder chats go: one of the reader's, a new one, or none.

import { useState } from "react";

import type { Chat } from "../sidebar/chats";
import { chats } from "../sidebar/chats";
import { showNotice } from "../sidebar/notice";
import { useWords } from "../state";
import { Asking } from "./FolderDialogs";
import { createFolder, folderOf, openFolder, useFolders } from "./folders";
import { words as table } from "./folder-words";

const NEW = "new";

interface Props {
  readonly chats: readonly Chat[];
  readonly onDone?: () => void;
  readonly onClose: () => void;
}

export function MoveDialog({ chats: some, onDone, onClose }: Props) {
  const words = useWords(table);
  const all = useFolders().filter(({ role }) => role !== "reader");
  const places = new Set(some.map((chat) => folderOf(chat.project_id)?.id ?? ""));
  const now = places.size === 1 ? [...places].join("") : null; // null: they are in several
  const [chosen, choose] = useState(all.length === 0 ? NEW : now ?? "");
  const [name, setName] = useState("");
  const move = async () => {
    const folder = chosen === NEW ? await createFolder(name.trim()) : folderOf(chosen);
    const { error } = await chats.changeEach(some.map(({ id }) => id), { project_id: folder?.id ?? "" });
    if (error !== null) throw error;
    onDone?.();
    if (folder) openFolder(folder.id, true);
    showNotice({ text: folder ? words.moved(folder.name) : words.movedOut });
  };
  return (
    <Asking title={words.moveTo.replace("…", "")} act={words.move} onClose={onClose} onDone={move} isReady={chosen === NEW ? name.trim() !== "" : chosen !== now}>
      <fieldset className="choices">
        <legend className="unseen">{words.folders}</legend>
        {[...all.map((each) => [each.id, each.name] as const), ...(now === "" ? [] : [["", words.noFolder] as const]), [NEW, words.newFolder] as const].map(([id, label]) => (
          <label key={id} className="check"><input type="radio" name="folder" checked={chosen === id} onChange={() => choose(id)} /> <span dir="auto">{label}</span></label>
        ))}
      </fieldset>
      {chosen === NEW && (
        <label className="field">{words.name}
          <input type="text" dir="auto" value={name} maxLength={100} data-first required onChange={({ target }) => setName(target.value)} />
        </label>
      )}
      {some.some((chat) => chat.shared !== undefined) && <p className="faint">{words.moveHint}</p>}
    </Asking>
  );
}
