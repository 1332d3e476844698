// The keys of the page, the list of them, and the command palette. It is always there, and shows nothing by itself.

import { answer, openTurn, type Turn } from "@chat-gateway/client";
import { useEffect } from "react";
import { flushSync } from "react-dom";

import { caller } from "../caller";
import { lastCode } from "../conversation/last-code";
import { withoutThinking } from "../conversation/thinking";
import { copyText } from "../CopyButton";
import { beginWith } from "../folders/beginning";
import { words as frame } from "../frame-words";
import { show, toggle } from "../regions";
import { isDeveloperNow, languageNow, useLanguage } from "../settings";
import { announce, app, go, useApp, useWords } from "../state";
import { useStore } from "../store";
import { chats } from "./chats";
import { commandOf, type Command, commands, commandsOf, isMac } from "./commands";
import { Shortcuts } from "./Shortcuts";
import { showNotice } from "./notice";
import { Palette } from "./Palette";
import { printWhole } from "./actions";
import { useChat } from "./shared-chats";
import { shownTitle, titleOf } from "./title";
import { words as table } from "./sidebar-words";

export function Commands() {
  const open = useStore(commands, (state) => state.open);
  useEffect(() => chats.watch(), []);
  useShared();
  useEffect(listen, []);
  useSeen();
  useNews();
  useTitle();
  if (open === "palette") return <Palette />;
  return open === "keys" ? <Shortcuts /> : null;
}

const SHARED_MS = 60_000;

// What others share is asked for where there are others, also when the reader comes back to the tab.
function useShared(): void {
  const isOfMany = useStore(caller, ({ me }) => me?.has_key === true);
  useEffect(() => {
    if (!isOfMany) return undefined;
    const look = () => {
      if (!document.hidden) void chats.readShared();
    };
    look();
    const timer = setInterval(look, SHARED_MS);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [isOfMany]);
}

const FIRST_NEWS_MS = 200;
const LONGEST_NEWS_MS = 1600;

// What the keys and the palette do.
const DOES: Readonly<Record<Command, () => void>> = {
  palette: () => commands.set({ open: commands.get().open === "palette" ? null : "palette" }),
  thisList: () => commands.set({ open: "keys" }),
  newChat: () => go({}),
  temporaryChat: () => {
    go({});
    beginWith({ isTemporary: true });
    DOES.focusMessage();
  },
  copyAnswer: () => copyLast(({ parts }) => parts.some(({ kind }) => kind === "text"), (turn) => withoutThinking(answer(turn))),
  copyCode: () => copyLast((turn) => lastCode(answer(turn)) !== null, (turn) => lastCode(answer(turn)) ?? ""),
  settings: () => app.set({ settingsOpen: true }),
  print: () => {
    if (app.get().conversation.path.length > 0 && app.get().place.page === null) printWhole();
    else print();
  },
  toggleSidebar: () => toggle("sidebar"),
  toggleInspector: () => toggle("inspector"),
  focusMessage: () => document.querySelector<HTMLElement>("#conversation textarea")?.focus(),
  focusSearch: () => {
    flushSync(() => show("sidebar")); // what is typed next goes there
    document.getElementById("chat-search")?.focus();
  },
  previousChat: () => step(-1),
  nextChat: () => step(1),
};

// Of the newest answer that has some.
function copyLast(has: (turn: Turn) => boolean, text: (turn: Turn) => string): void {
  const { path, turns } = app.get().conversation;
  const turn = path.map((id) => turns.get(id)).findLast((each) => each !== undefined && has(each));
  if (turn === undefined) return;
  const { copied } = frame[languageNow()];
  void copyText(text(turn)).then(() => {
    showNotice({ text: copied });
    announce(copied);
  });
}

export function run(command: Command): void {
  DOES[command]();
}

function listen(): () => void {
  const ending = new AbortController();
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented) return;
    const { singleKeys, open } = commands.get();
    const at = event.target as Element | null;
    const isWriting = at?.closest("input, textarea, select, [contenteditable], [role=menu], dialog") != null;
    const command = commandOf(event, { isWriting, singleKeys, isMac: isMac() });
    const isFree = open === null ? document.querySelector("dialog[open]") === null : command === "palette";
    if (command === null || !isFree || !commandsOf(isDeveloperNow()).includes(command)) return;
    event.preventDefault();
    run(command);
  }, { signal: ending.signal });
  return () => ending.abort();
}

// Goes to the chat after, or before, the one on the screen.
function step(by: 1 | -1): void {
  const { chats: known } = chats.store.get();
  const all = [...known.filter(({ pinned }) => pinned), ...known.filter(({ pinned }) => !pinned)]; // as they are listed
  const at = all.findIndex(({ id }) => id === app.get().place.session);
  const next = all[at < 0 ? 0 : at + by];
  if (next) go({ session: next.id });
}

// What is on the screen of a tab that is looked at has been seen.
function useSeen(): void {
  const session = useApp((state) => state.place.page === null ? state.place.session : null);
  const head = useApp((state) => state.conversation.last);
  const known = useStore(chats.store, (state) => state.chats.find(({ id }) => id === session)?.head ?? 0);
  useEffect(() => {
    if (session === null) return;
    const look = () => {
      if (!document.hidden) chats.see(session, Math.max(head, known));
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [session, head, known]);
}

// The list tells at once of the chat on the screen: that it is there, that it runs or waits, that it is over.
function useNews(): void {
  const session = useApp((state) => state.replay ? null : state.place.session);
  const status = useApp(({ conversation }) => openTurn(conversation)?.state ?? "over");
  const isEmpty = useApp(({ conversation }) => conversation.newest === undefined);
  const listed = useStore(chats.store, (state) => {
    const chat = state.chats.find(({ id }) => id === session);
    return chat && (chat.status ?? "over");
  });
  const isNews = session !== null && !isEmpty && listed !== status;
  const isListed = listed !== undefined;
  useEffect(() => {
    if (!isNews) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    // An answer may have been on its way before the news, so one that does not tell of it is asked for again, but not for long.
    const ask = async (wait: number) => {
      await chats.refresh();
      if (!isOver && isListed && wait <= LONGEST_NEWS_MS) timer = setTimeout(() => void ask(2 * wait), wait);
    };
    void ask(FIRST_NEWS_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [isNews, isListed, status]);
  const title = useApp(({ conversation }) => conversation.title);
  useEffect(() => {
    if (title !== undefined) void chats.refresh();
  }, [title]);
}

// The tab says which chat it shows, and how many calls wait for a person.
function useTitle(): void {
  const words = useWords(table);
  const language = useLanguage();
  const place = useApp((state) => state.place);
  const waiting = useStore(chats.store, ({ approvals }) => approvals.length);
  const chat = useChat(place.session);
  const isOpen = place.session !== null && place.page === null;
  const recording = useApp((state) => state.replay?.recording ?? null);
  const name = !isOpen ? null : recording ?? (chat ? shownTitle(chat, words.untitled) : null);
  useEffect(() => {
    document.title = titleOf({ name, page: place.page, waiting, language });
  }, [name, place.page, waiting, language]);
}
