// What can be done with the chats that are chosen in the list.

import { Archive, ArchiveRestore, CheckCheck, FolderInput, Trash2, X } from "lucide-react";
import { lazy, Suspense, useState } from "react";

import { words as filing } from "../folders/folder-words";
import { inWords } from "../pages/problems";
import { useLanguage } from "../settings";
import { useWords } from "../state";
import { useStore } from "../store";
import { chats } from "./chats";
import { showNotice } from "./notice";
import { chooseOnly, endChoosing, everyChat, several } from "./several";
import { archiveEach, DeleteSeveral } from "./SeveralDialogs";
import { words as table } from "./several-words";

const MoveDialog = lazy(() => import("../folders/MoveDialog").then(({ MoveDialog }) => ({ default: MoveDialog })));

export function SeveralBar() {
  const chosen = useStore(several, (state) => state.chosen);
  const words = useWords(table);
  const { moveTo } = useWords(filing);
  const language = useLanguage();
  const isArchive = useStore(chats.store, ({ archived, found }) => archived !== null && found === null);
  const [asked, ask] = useState<"move" | "delete" | null>(null);
  if (chosen === null) return null;
  const some = [...chosen.values()];
  const isNone = some.length === 0;
  const attempt = (act: () => Promise<void>) => void act().catch((error: unknown) => showNotice({ text: inWords(error as Error, language), isTrouble: true }));
  const all = () => attempt(async () => {
    const { found } = chats.store.get();
    chooseOnly(found?.chats ?? await everyChat(isArchive ? { archived: "true" } : {}));
  });
  const archive = () => attempt(async () => {
    endChoosing();
    await archiveEach(some.map(({ id }) => id), !isArchive, language);
  });
  return (
    <div className="several" role="toolbar" aria-label={words.several}
      onKeyDown={(event) => {
        if (event.key === "Escape" && asked === null) endChoosing();
      }}>
      <span role="status">{words.chosen(some.length)}</span>
      <button type="button" className="small" onClick={all}><CheckCheck aria-hidden />{words.all}</button>
      <button type="button" className="icon" disabled={isNone} aria-label={isArchive ? words.unarchive : words.archive} title={isArchive ? words.unarchive : words.archive} onClick={archive}>
        {isArchive ? <ArchiveRestore /> : <Archive />}
      </button>
      <button type="button" className="icon" disabled={isNone} aria-label={moveTo} title={moveTo} onClick={() => ask("move")}><FolderInput /></button>
      <button type="button" className="icon dangerous" disabled={isNone} aria-label={words.delete} title={words.delete} onClick={() => ask("delete")}><Trash2 /></button>
      <button type="button" className="icon" aria-label={words.end} title={words.end} onClick={endChoosing}><X /></button>
      {asked === "move" && <Suspense><MoveDialog chats={some} onDone={endChoosing} onClose={() => ask(null)} /></Suspense>}
      {asked === "delete" && <DeleteSeveral chats={some} onDone={endChoosing} onClose={() => ask(null)} />}
    </div>
  );
}
