// The folders above the list of chats: each opens to its chats, takes chats that are dropped on it, and has a menu.

import { ChevronDown, ChevronRight, ChevronUp, Ellipsis, FolderClosed, FolderOpen, FolderPlus, Pencil, ScrollText, SquarePen, Trash2, Users } from "lucide-react";
import { type DragEvent, lazy, Suspense, useEffect, useState } from "react";

import { inWords } from "../pages/problems";
import { useLanguage } from "../settings";
import { go, useWords } from "../state";
import { useStore } from "../store";
import { type Chat, CHAT_TYPE, chats, inFolder } from "../sidebar/chats";
import { ChatRow } from "../sidebar/ChatRow";
import { type Action, Menu } from "../sidebar/Menu";
import { showNotice } from "../sidebar/notice";
import { isUnread } from "../sidebar/seen";
import { beginWith } from "./beginning";
import { type Folder, folders, moveFolder, openFolder } from "./folders";
import { moveChat } from "./moving";
import { words as table } from "./folder-words";
import "./folders.css";

const Dialogs = lazy(() => import("./FolderDialogs").then(({ FolderDialog }) => ({ default: FolderDialog })));

export type Asked = "create" | "rename" | "instructions" | "delete";

interface Props {
  readonly session: string | null;
  readonly onChosen: () => void;
}

export function Folders({ session, onChosen }: Props) {
  const words = useWords(table);
  const { folders: all, open } = useStore(folders, (state) => state);
  const [isNew, setNew] = useState(false);
  return (
    <section className="folders" aria-labelledby="folders-heading">
      <div className="folders-head">
        <h2 id="folders-heading">{words.folders}</h2>
        <button type="button" className="icon" aria-label={words.newFolder} title={words.newFolder} onClick={() => setNew(true)}><FolderPlus /></button>
      </div>
      <ul>
        {all.map((each, at) => (
          <FolderRow key={each.id} folder={each} isOpen={open.includes(each.id)} isFirst={at === 0} isLast={at === all.length - 1} session={session} onChosen={onChosen} />
        ))}
      </ul>
      {isNew && <Suspense><Dialogs asked="create" folder={null} onClose={() => setNew(false)} /></Suspense>}
    </section>
  );
}

interface RowProps extends Props {
  readonly folder: Folder;
  readonly isOpen: boolean;
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

function FolderRow({ folder, isOpen, isFirst, isLast, session, onChosen }: RowProps) {
  const words = useWords(table);
  const language = useLanguage();
  const [asked, ask] = useState<Asked | null>(null);
  const { isOver, ...drop } = useDrop(folder);
  const isOwner = folder.role === "owner";
  const order = (by: number) => void moveFolder(folder.id, by).catch((error: unknown) => showNotice({ text: inWords(error as Error, language), isTrouble: true }));
  const actions: Action[] = [
    ...(folder.role === "reader" ? [] : [{ label: words.newChatIn, icon: <SquarePen />, act: () => {
      beginWith({ folder: folder.id });
      go({});
      onChosen();
    } }]),
    ...(isOwner ? [
      { label: words.rename, icon: <Pencil />, act: () => ask("rename") },
      { label: words.instructions, icon: <ScrollText />, act: () => ask("instructions") },
    ] : []),
    ...(isFirst ? [] : [{ label: words.up, icon: <ChevronUp />, act: () => order(-1) }]),
    ...(isLast ? [] : [{ label: words.down, icon: <ChevronDown />, act: () => order(1) }]),
    ...(isOwner ? [{ label: words.delete, icon: <Trash2 />, isDangerous: true, act: () => ask("delete") }] : []),
  ];
  const Icon = isOwner ? isOpen ? FolderOpen : FolderClosed : Users;
  return (
    <li className="folder" data-over={isOver} data-folder={folder.id} {...drop}>
      <div className="folder-row">
        <button type="button" className="folder-name" aria-expanded={isOpen} onClick={() => openFolder(folder.id, !isOpen)}>
          <ChevronRight className="folder-sign" aria-hidden /><Icon aria-hidden /><span dir="auto">{folder.name}</span>
        </button>
        <Menu label={words.actions(folder.name)} icon={<Ellipsis />} actions={actions} />
      </div>
      {isOpen && <FolderChats id={folder.id} session={session} onChosen={onChosen} />}
      {asked && <Suspense><Dialogs asked={asked} folder={folder} onClose={() => ask(null)} /></Suspense>}
    </li>
  );
}

function FolderChats({ id, session, onChosen }: Props & { readonly id: string }) {
  const words = useWords(table);
  const language = useLanguage();
  const all = useStore(chats.store, (state) => state);
  const list = all.folders[id];
  useEffect(() => void chats.showFolder(id), [id]);
  const shown = inFolder(all, id);
  if (list?.state === "failed") return <p className="chats-empty trouble" role="alert">{list.error && inWords(list.error, language)}</p>;
  if (shown.length === 0) return <p className="chats-empty">{list?.state === "ready" ? words.empty : words.loading}</p>;
  return (
    <>
      <ul>
        {shown.map((chat: Chat) => (
          <ChatRow key={chat.id} chat={chat} isOpen={chat.id === session} isStop isUnread={chat.id !== session && isUnread(all.seen, chat)} status={chat.status} onChosen={onChosen} />
        ))}
      </ul>
      {typeof list?.next === "string" && <button type="button" className="small more" onClick={() => void chats.moreOfFolder(id)}>{words.more}</button>}
    </>
  );
}

// What a folder does with a chat that is dragged over it.
function useDrop(folder: Folder) {
  const words = useWords(table);
  const language = useLanguage();
  const [isOver, setOver] = useState(false);
  const takes = (event: DragEvent) => folder.role !== "reader" && event.dataTransfer.types.includes(CHAT_TYPE);
  return {
    isOver,
    onDragOver: (event: DragEvent) => {
      if (!takes(event)) return;
      event.preventDefault();
      setOver(true);
    },
    onDragLeave: (event: DragEvent) => {
      if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
    },
    onDrop: (event: DragEvent) => {
      setOver(false);
      if (!takes(event)) return;
      event.preventDefault();
      void moveChat(event.dataTransfer.getData(CHAT_TYPE), folder, words, language);
    },
  };
}
