// What can be done with a chat, for its menu in the list and for the one above the conversation.

import {
  Archive, ArchiveRestore, Download, FileCode2, FileText, FolderInput, Layers, Link, ListChecks, Mail, Pencil, Pin, PinOff, Printer, ScrollText, Trash2, Users,
} from "lucide-react";
import { lazy, Suspense, useState } from "react";

import { caller } from "../caller";
import { Dialog } from "../Dialog";
import { saveFile } from "../downloads";
import { words as filing } from "../folders/folder-words";
import { inWords } from "../pages/problems";
import { app, client, go, useApp, useWords } from "../state";
import { useLanguage } from "../settings";
import { chats, type Chat } from "./chats";
import { History } from "./History";
import type { Action } from "./Menu";
import { showNotice } from "./notice";
import { words as severalWords } from "./several-words";
import { chooseOnly } from "./several";
import { ShareDialog } from "./ShareDialog";
import { shownTitle } from "./title";
import { words as table } from "./sidebar-words";
import { may } from "./shared-chats";
import { words as shareWords } from "./share-words";
import { useStore } from "../store";

/** Prints all of a chat: of the one on the screen unless one is named. */
export const printWhole = (session?: string): void => void import("../conversation/print").then(({ printChat }) => printChat(session));

const LinkDialog = lazy(() => import("../pages/links/LinkDialog"));
const MoveDialog = lazy(() => import("../folders/MoveDialog").then(({ MoveDialog }) => ({ default: MoveDialog })));
const InstructionsDialog = lazy(() => import("../folders/InstructionsDialog").then(({ InstructionsDialog }) => ({ default: InstructionsDialog })));

type Asked = "link" | "rename" | "delete" | "history" | "share" | "move" | "instructions" | null;

// The actions, and the dialog that one of them has opened. `isInList`: it is a row of the list, where others can be chosen with it.
export function useActions(chat: Chat, isInList = false): { readonly actions: readonly Action[]; readonly ask: (what: Asked) => void; readonly dialog: React.ReactNode } {
  const words = useWords(table);
  const language = useLanguage();
  const [asked, ask] = useState<Asked>(null);
  const sharing = useWords(shareWords);
  const choosing = useWords(severalWords);
  const { moveTo, instructions } = useWords(filing);
  const hasOthers = useStore(caller, ({ me }) => me?.has_key === true);
  const title = shownTitle(chat, words.untitled);
  const attempt = async (act: () => Promise<string | undefined>, undo?: () => void) => {
    try {
      const text = await act();
      if (text !== undefined) showNotice({ text, ...(undo ? { undo } : {}) });
    } catch (error) {
      showNotice({ text: inWords(error as Error, language), isTrouble: true });
    }
  };
  const archive = (isArchived: boolean) => attempt(async () => {
    await chats.change(chat.id, { archived: isArchived });
    return isArchived ? words.archived(title) : undefined;
  }, isArchived ? () => void archive(false) : undefined);
  const pin = (pinned: boolean) => void attempt(async () => {
    await chats.change(chat.id, { pinned });
    return undefined;
  });
  const share = (format: "html" | "markdown") => attempt(async () => {
    const response = await client.connection.send(`/api/sessions/${chat.id}/export`, {}, { format });
    const suffix = format === "html" ? "html" : "md";
    saveFile(new File([await response.blob()], `${fileName(title)}.${suffix}`));
    return words.exported;
  });
  const open = useApp(({ place }) => place.page === null ? place.session : null);
  const isOwn = may(chat, "own");
  const isManaged = may(chat, "manage");
  const actions: Action[] = [
    ...(isManaged ? [{ label: words.rename, icon: <Pencil />, hint: "F2", act: () => ask("rename") }] : []),
    ...(isOwn ? [chat.pinned
      ? { label: words.unpin, icon: <PinOff />, act: () => pin(false) }
      : { label: words.pin, icon: <Pin />, act: () => pin(true) }] : []),
    ...(chat.head > 0 && chat.id !== open ? [{ label: words.markUnread, icon: <Mail />, act: () => chats.see(chat.id, 0) }] : []),
    ...(hasOthers ? [{ label: isOwn ? sharing.share : sharing.people, icon: <Users />, act: () => ask("share") }] : []),
    ...(isOwn && hasOthers ? [{ label: sharing.link, icon: <Link />, act: () => ask("link") }] : []),
    ...(isOwn ? [
      { label: moveTo, icon: <FolderInput />, act: () => ask("move") },
      { label: instructions, icon: <ScrollText />, act: () => ask("instructions") },
      { label: words.history, icon: <Layers />, act: () => ask("history") },
    ] : []),
    ...(isOwn && isInList ? [{ label: choosing.choose, icon: <ListChecks />, act: () => chooseOnly([chat]) }] : []),
    { label: words.exportChat, icon: <Download />, act: () => void attempt(async () => {
      const file = await client.exportSession(chat.id);
      saveFile(new File([file], `${fileName(title)}.jsonl`));
      return words.exported;
    }) },
    { label: words.shareMarkdown, icon: <FileText />, act: () => void share("markdown") },
    { label: words.shareHtml, icon: <FileCode2 />, act: () => void share("html") },
    { label: words.print, icon: <Printer />, act: () => printWhole(chat.id) },
    ...(isOwn ? [chat.archived
      ? { label: words.unarchive, icon: <ArchiveRestore />, act: () => void archive(false) }
      : { label: words.archive, icon: <Archive />, act: () => void archive(true) }] : []),
    ...(isManaged ? [{ label: words.delete, icon: <Trash2 />, hint: "Del", isDangerous: true, act: () => ask("delete") }] : []),
  ];
  const askFor = (what: Asked) => {
    if (isManaged || (what !== "rename" && what !== "delete")) ask(what);
  };
  const close = () => ask(null);
  const dialog = asked === "rename" ? <Rename chat={chat} onClose={close} />
    : asked === "delete" ? <Delete chat={chat} onClose={close} />
      : asked === "history" ? <History session={chat.id} onClose={close} />
        : asked === "share" ? <ShareDialog chat={chat} onClose={close} />
          : asked === "link" ? <Suspense><LinkDialog session={chat.id} onClose={close} /></Suspense>
            : asked === "move" ? <Suspense><MoveDialog chats={[chat]} onClose={close} /></Suspense>
              : asked === "instructions" ? <Suspense><InstructionsDialog session={chat.id} onClose={close} /></Suspense> : null;
  return { actions, ask: askFor, dialog };
}

interface Props {
  readonly chat: Chat;
  readonly onClose: () => void;
}

function Rename({ chat, onClose }: Props) {
  const words = useWords(table);
  const language = useLanguage();
  const [title, setTitle] = useState(chat.title ?? "");
  const [trouble, setTrouble] = useState("");
  const rename = async () => {
    try {
      await chats.change(chat.id, { title: title.trim() });
      showNotice({ text: words.renamed(title.trim()) });
      onClose();
    } catch (error) {
      setTrouble(inWords(error as Error, language));
    }
  };
  return (
    <Dialog title={words.rename} onClose={onClose}>
      <form onSubmit={(event) => {
        event.preventDefault();
        if (title.trim() !== "") void rename();
      }}>
        <label className="field">{words.newTitle}
          <input type="text" value={title} maxLength={200} data-first required onChange={(event) => setTitle(event.target.value)} />
        </label>
        <p role="alert" className="trouble">{trouble}</p>
        <div className="buttons">
          <button type="submit" className="primary">{words.save}</button>
          <button type="button" className="small" onClick={onClose}>{words.cancel}</button>
        </div>
      </form>
    </Dialog>
  );
}

function Delete({ chat, onClose }: Props) {
  const words = useWords(table);
  const language = useLanguage();
  const [trouble, setTrouble] = useState("");
  const [isBusy, setBusy] = useState(false);
  const title = shownTitle(chat, words.untitled);
  const remove = async () => {
    setBusy(true);
    try {
      await chats.remove(chat.id, () => {
        if (app.get().place.session === chat.id) go({});
      });
      showNotice({ text: words.deleted(title) });
      onClose();
    } catch (error) {
      setBusy(false);
      setTrouble(inWords(error as Error, language));
    }
  };
  return (
    <Dialog title={words.deleteTitle} onClose={onClose}>
      <p dir="auto"><b>{title}</b></p>
      <p>{words.deleteHint}</p>
      <p role="alert" className="trouble">{trouble}</p>
      <div className="buttons">
        <button type="button" className="primary dangerous" disabled={isBusy} onClick={() => void remove()}>{words.deleteNow}</button>
        <button type="button" className="small" data-first onClick={onClose}>{words.cancel}</button>
      </div>
    </Dialog>
  );
}

// The title as the name of a file: without what a file system has another use for.
export function fileName(title: string): string {
  const plain = title.replace(/[\p{Cc}\p{Cf}\\/:*?"<>|]+/gu, " ").replace(/\s+/g, " ").replace(/^[. ]+|[. ]+$/g, "");
  return Array.from(plain).slice(0, 80).join("") || "chat";
}
