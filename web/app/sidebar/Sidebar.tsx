// The chats, and the ways to the other pages. `session` and `page` are what is on the screen.

import { openTurn } from "@chat-gateway/client";
import { Archive, ArrowLeft, Box, Brain, CalendarClock, Inbox, Keyboard, Puzzle, Search, SquarePen, TextQuote, Upload, Users, X, Webhook } from "lucide-react";
import { type KeyboardEvent, lazy, Suspense, useEffect, useMemo, useRef, useState } from "react";

import { Account } from "../Account";
import { caller } from "../caller";
import { importChats, inWordsOf } from "../chat-files";
import { readFolders, useFolders } from "../folders/folders";
import { isForeign } from "../importing/foreign-chats";
import { localeOf } from "../pages/locale-formats";
import { inWords } from "../pages/problems";
import { hashOf, NEW_CHAT, type Page, pagesOf } from "../page-address";
import { useIsDeveloper, useLanguage } from "../settings";
import { go, useApp, useWords } from "../state";
import { useStore } from "../store";
import { words as frame } from "../frame-words";
import { ChatRow } from "./ChatRow";
import { type Chat, chats } from "./chats";
import { Invitations } from "./Invitations";
import { commands } from "./commands";
import { byDay } from "./days";
import { notice, showNotice } from "./notice";
import { isUnread } from "./seen";
import { endChoosing } from "./several";
import { SearchFilter } from "./SearchFilter";
import { SeveralBar } from "./SeveralBar";
import { words as shareWords } from "./share-words";
import { words as table } from "./sidebar-words";
import "./sidebar.css";

const TYPING_MS = 200;
const NOTICE_MS = 6_000; // to read a line
const UNDO_MS = 12_000; // and to think better of it
const NARROW = "(max-width: 860px)"; // where the list lies over the rest
const ICONS: Readonly<Record<ReturnType<typeof pagesOf>[number], typeof Box>> = { inbox: Inbox, memory: Brain, skills: Puzzle, artifacts: Box, schedules: CalendarClock, webhooks: Webhook, prompts: TextQuote };

const ImportDialog = lazy(() => import("../importing/ImportDialog").then(({ ImportDialog }) => ({ default: ImportDialog })));
const Folders = lazy(() => import("../folders/Folders").then(({ Folders }) => ({ default: Folders })));

export interface SidebarProps {
  readonly session: string | null;
  readonly page: Page | null;
  /** On a narrow screen, where it lies over the rest. */
  readonly onClose: () => void;
}

export function Sidebar({ session, page, onClose }: SidebarProps) {
  const words = useWords(table);
  const pageWords = useWords(frame).pages;
  const waiting = useStore(chats.store, ({ approvals }) => approvals.length);
  const isDeveloper = useIsDeveloper();
  useEffect(() => void readFolders().catch(() => undefined), []); // the list is whole without
  const leave = () => {
    if (matchMedia(NARROW).matches) onClose();
  };
  return (
    <div className="chats-side">
      <div className="chats-top">
        <button type="button" className="new-chat" onClick={() => {
          go({});
          leave();
        }}><SquarePen aria-hidden="true" />{words.newChat}</button>
        <SearchBox />
        <SearchFilter />
      </div>
      <SeveralBar />
      <List session={session} onChosen={leave} />
      <Invitations />
      <NoticeBar />
      <Foot />
      <ul className="chats-pages" aria-label={words.pages}>
        {pagesOf(isDeveloper).map((each) => {
          const Icon = ICONS[each];
          return (
            <li key={each}>
              <a
                href={hashOf({ ...NEW_CHAT, page: each })} aria-current={page === each ? "page" : undefined}
                onClick={(event) => {
                  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
                  event.preventDefault();
                  go({ page: each });
                  leave();
                }}
              ><Icon aria-hidden="true" /><span>{pageWords[each]}</span>{each === "inbox" && waiting > 0 && <b className="count">{waiting}</b>}</a>
            </li>
          );
        })}
      </ul>
      <SidebarAccount />
    </div>
  );
}

// A key alone is in the settings: its end is nothing that people look for each day.
function SidebarAccount() {
  return useStore(caller, ({ me }) => me?.signed_in === true) && <Account />;
}

function SearchBox() {
  const words = useWords(table);
  const query = useStore(chats.store, (state) => state.query);
  const [text, setText] = useState(query);
  const [shown, setShown] = useState(query);
  const typing = useRef<ReturnType<typeof setTimeout>>(undefined);
  if (query !== shown) { // another part of the page searches
    setShown(query);
    if (query !== text.trim()) setText(query);
  }
  const look = (next: string) => {
    setText(next);
    clearTimeout(typing.current);
    typing.current = setTimeout(() => void chats.search(next.trim()), next === "" ? 0 : TYPING_MS);
  };
  return (
    <div className="chats-search" role="search" aria-label={words.search}>
      <Search aria-hidden="true" />
      <input
        id="chat-search" type="search" value={text} maxLength={200} autoComplete="off" placeholder={words.search} aria-label={words.search}
        onChange={(event) => look(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape" && text !== "") {
            event.stopPropagation();
            look("");
          } else if (event.key === "ArrowDown") {
            event.preventDefault();
            document.querySelector<HTMLElement>(".chats-list [data-chat] :is(a, input)[tabindex='0']")?.focus();
          }
        }}
      />
      {text !== "" && <button type="button" className="icon" aria-label={words.clear} title={words.clear} onClick={() => look("")}><X /></button>}
    </div>
  );
}

function List({ session, onChosen }: { readonly session: string | null; readonly onChosen: () => void }) {
  const words = useWords(table);
  const language = useLanguage();
  const all = useStore(chats.store, (state) => state);
  const sharing = useWords(shareWords);
  const shown = all.found ?? all.archived ?? (all.isSharedShown ? all.shared : all);
  const isOther = !all.found && (all.archived !== null || all.isSharedShown);
  const [stop, setStop] = useState<string | null>(null);
  const list = useRef<HTMLDivElement>(null);
  const shownStatus = useShownStatus();
  const isAll = !isOther && !all.found;
  const folders = useFolders();
  const groups = useMemo(() => {
    const ids = new Set(folders.map(({ id }) => id));
    const loose = isAll ? shown.chats.filter((chat) => chat.pinned || !ids.has(chat.project_id ?? "")) : shown.chats;
    return byDay(loose, { language: localeOf(language), now: all.day, words });
  }, [shown.chats, language, words, all.day, isAll, folders]);
  const rows = groups.flatMap((group) => group.chats);
  const tabStop = [stop, session, rows[0]?.id].find((id) => rows.some((row) => row.id === id)) ?? null;
  useEffect(() => { // also where another part of the page has opened it
    list.current?.querySelector(`[data-chat="${CSS.escape(session ?? "")}"]`)?.scrollIntoView({ block: "nearest" });
  }, [session]);
  const isEmpty = shown.state === "ready" && rows.length === 0 && !(isAll && shown.chats.length > 0);
  const empty = all.found ? words.nothingFound : all.archived ? words.noArchived : all.isSharedShown ? sharing.nothingShared : words.noChats;
  return (
    <div
      ref={list} className="chats-list"
      onKeyDown={(event) => {
        if (event.key === "Escape") endChoosing();
        moveIn(list.current, event);
      }}
      onFocus={(event) => {
        const row = event.target.closest<HTMLElement>("[data-chat]");
        if (row?.dataset.chat !== undefined) setStop(row.dataset.chat);
      }}
    >
      {isOther && (
        <button type="button" className="chats-back" onClick={() => {
          void chats.showArchived(false);
          chats.showShared(false);
        }}><ArrowLeft aria-hidden="true" />{words.backToChats}</button>
      )}
      <p className="unseen" role="status">{all.found && shown.state === "ready" ? words.found(rows.length) : ""}</p>
      {isAll && folders.length > 0 && <Suspense><Folders session={session} onChosen={onChosen} /></Suspense>}
      {groups.map((group) => (
        <section key={group.key} aria-labelledby={`chats-${group.key}`}>
          <h2 id={`chats-${group.key}`}>{group.heading}</h2>
          <ul>
            {group.chats.map((chat: Chat) => (
              <ChatRow
                key={chat.id} chat={chat} isOpen={chat.id === session} isStop={chat.id === tabStop}
                isUnread={chat.id !== session && isUnread(all.seen, chat)} onChosen={onChosen}
                status={chat.id !== session || shownStatus === null ? chat.status : shownStatus === "over" ? undefined : shownStatus}
              />
            ))}
          </ul>
        </section>
      ))}
      {isEmpty && <p className="chats-empty">{empty}</p>}
      {shown.state === "failed" && <p className="chats-empty trouble" role="alert">{shown.error && inWords(shown.error, language)}</p>}
      {shown.state === "ready" && shown.next !== null && <More key={shown.next} />}
    </div>
  );
}

// How the session on the screen stands by its events, of which the list tells later. null: they are not known yet.
function useShownStatus(): Chat["status"] | "over" | null {
  return useApp((state) => {
    const { conversation, state: known } = state.replay?.live ?? state;
    return known === "ready" ? (openTurn(conversation)?.state ?? "over") as Chat["status"] | "over" : null;
  });
}

// The next page, when the reader has come to the end of this one.
function More() {
  const words = useWords(table);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!button.current || typeof IntersectionObserver === "undefined") return;
    const seen = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) void chats.more();
    });
    seen.observe(button.current);
    return () => seen.disconnect();
  }, []);
  return <button ref={button} type="button" className="small more" onClick={() => void chats.more()}>{words.more}</button>;
}

// What concerns the list as a whole; it stands below however many chats there are.
function Foot() {
  const words = useWords(table);
  const sharing = useWords(shareWords);
  const hasShared = useStore(chats.store, ({ shared }) => shared.chats.length > 0);
  const news = useStore(chats.store, ({ shared, seen }) => shared.chats.filter((chat) => isUnread(seen, chat)).length);
  const isSharedShown = useStore(chats.store, (state) => state.isSharedShown);
  const isArchivedShown = useStore(chats.store, ({ archived }) => archived !== null);
  const language = useLanguage();
  const choose = useRef<HTMLInputElement>(null);
  const [foreign, setForeign] = useState<File | null>(null);
  const take = async (file: File) => {
    if (await isForeign(file)) {
      setForeign(file);
      return;
    }
    try {
      const { session, outcome } = await importChats(file);
      await chats.refresh();
      if (session) go({ session: session.id });
      showNotice(session ? { text: words.imported(session.title ?? words.untitled) } : { text: inWordsOf(outcome, language), isTrouble: outcome.refused > 0 });
    } catch (error) {
      showNotice({ text: inWords(error as Error, language), isTrouble: true });
    }
  };
  return (
    <div className="chats-below">
      {hasShared && (
        <button type="button" className="shared-with-me" aria-pressed={isSharedShown} onClick={() => chats.showShared(!isSharedShown)}>
          <Users aria-hidden="true" /><span>{sharing.withMe}</span>{news > 0 && <b className="count" title={sharing.newOnes(news)}>{news}<span className="unseen"> {sharing.newOnes(news)}</span></b>}
        </button>
      )}
      <button type="button" aria-pressed={isArchivedShown} onClick={() => void chats.showArchived(!isArchivedShown)}><Archive aria-hidden="true" />{words.archivedChats}</button>
      <button type="button" title={words.importChat} onClick={() => choose.current?.click()}><Upload aria-hidden="true" />{words.importShort}</button>
      <input
        ref={choose} id="import-chat" type="file" hidden accept=".jsonl,.ndjson,.zip,.json,application/x-ndjson" aria-label={words.importFile}
        onChange={({ target }) => {
          const file = target.files?.[0];
          target.value = ""; // the same file can be chosen again
          if (file) void take(file);
        }}
      />
      {foreign && <Suspense><ImportDialog file={foreign} onClose={() => setForeign(null)} /></Suspense>}
      <button type="button" className="of-keys" onClick={() => commands.set({ open: "keys" })}><Keyboard aria-hidden="true" />{words.keys}</button>
    </div>
  );
}

// What was just done, with the way back. It goes by itself, but not while the reader is at it, nor a failure.
function NoticeBar() {
  const words = useWords(table);
  const shown = useStore(notice, (state) => state.shown);
  const [isHeld, setHeld] = useState(false);
  const frameWords = useWords(frame);
  useEffect(() => {
    if (!shown || shown.isTrouble || isHeld) return undefined;
    const timer = setTimeout(() => showNotice(null), shown.undo ? UNDO_MS : NOTICE_MS);
    return () => clearTimeout(timer);
  }, [shown, isHeld]);
  if (!shown) return null;
  const close = () => {
    setHeld(false);
    showNotice(null);
  };
  return (
    <div className="chats-notice" data-trouble={shown.isTrouble}
      onPointerEnter={() => setHeld(true)} onPointerLeave={() => setHeld(false)} onFocus={() => setHeld(true)} onBlur={() => setHeld(false)}>
      <span dir="auto">{shown.text}</span>
      {shown.undo && <button type="button" className="small" onClick={() => {
        shown.undo?.();
        close();
      }}>{words.undo}</button>}
      <button type="button" className="icon" aria-label={frameWords.close} title={frameWords.close} onClick={close}><X /></button>
    </div>
  );
}

// Arrow keys, Home and End go from chat to chat.
function moveIn(list: HTMLElement | null, event: KeyboardEvent): void {
  if (!(event.target as Element).closest("[data-chat]")) return;
  const links = [...list?.querySelectorAll<HTMLElement>("[data-chat] :is(a, input)") ?? []];
  const at = links.findIndex((link) => link.closest("[data-chat]")?.contains(document.activeElement));
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key];
  if (to === undefined || at < 0) return;
  event.preventDefault();
  if (to < 0) document.getElementById("chat-search")?.focus();
  else links[Math.min(to, links.length - 1)]?.focus();
}
