// The command palette: what can be done, and where one can go, by a few letters of its name.

import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";

import { Dialog } from "../Dialog";
import { library } from "../library/library";
import { words as libraryWords } from "../library/library-words";
import { pagesOf, QUIET_PAGES } from "../page-address";
import { useQuietPages } from "../QuietPages";
import { show } from "../regions";
import { settings, THEMES, useIsDeveloper } from "../settings";
import { go, useWords } from "../state";
import { useStore } from "../store";
import { words as frame } from "../frame-words";
import { chats } from "./chats";
import { run } from "./Commands";
import { chordText, commands, commandsOf, isMac, KEYS } from "./commands";
import { best } from "./fuzzy";
import { markedSpans } from "./highlight";
import { MarkedText } from "./MarkedText";
import { words as shareWords } from "./share-words";
import { shownTitle } from "./title";
import { words as table } from "./sidebar-words";

const MOST = 30; // of what is shown

interface Choice {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly chord?: string;
  readonly act: () => void;
}

export function Palette() {
  const words = useWords(table);
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const choices = useChoices();
  const shown = useMemo(() => {
    const fitting = best(choices, typed, ({ name }) => name).slice(0, MOST);
    const query = typed.trim();
    if (query === "") return fitting;
    const search: Choice = {
      id: "search", name: words.searchFor(query), kind: words.goTo, act: () => {
        run("focusSearch");
        void chats.search(query);
      },
    };
    return [...fitting, { choice: search, fit: { score: 0, ranges: [] } }];
  }, [choices, typed, words]);
  const close = () => commands.set({ open: null });
  const take = (choice: Choice | undefined) => {
    if (!choice) return;
    close();
    choice.act();
  };
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }); // in new browsers this returns a promise
  }, [at]);
  const move = (event: KeyboardEvent) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (to !== undefined) setAt((to + shown.length) % Math.max(1, shown.length));
    else if (event.key === "Enter") take(shown[at]?.choice);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={words.commands} className="palette" onClose={close}>
      <input
        type="text" role="combobox" aria-expanded="true" aria-controls={id} aria-autocomplete="list" aria-label={words.commandHint}
        aria-activedescendant={shown[at] ? `${id}-${shown[at].choice.id}` : undefined} placeholder={words.commandHint}
        autoComplete="off" spellCheck={false} data-first value={typed} maxLength={200} onKeyDown={move}
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
        }}
      />
      <ul ref={list} id={id} role="listbox" aria-label={words.commands}>
        {shown.map(({ choice, fit }, index) => (
          <li
            key={choice.id} id={`${id}-${choice.id}`} role="option" aria-selected={index === at}
            onClick={() => take(choice)} onPointerMove={() => setAt(index)}
          >
            <span dir="auto"><MarkedText spans={markedSpans(choice.name, fit.ranges)} /></span>
            {choice.chord !== undefined ? <kbd>{choice.chord}</kbd> : <small>{choice.kind}</small>}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function useChoices(): readonly Choice[] {
  const words = useWords(table);
  const { pages } = useWords(frame);
  const sharing = useWords(shareWords);
  const { title: savedPrompts } = useWords(libraryWords);
  const all = useStore(chats.store, (state) => state.chats);
  const shared = useStore(chats.store, (state) => state.shared.chats);
  const isDeveloper = useIsDeveloper();
  const quiet = useQuietPages().join(" ");
  return useMemo(() => {
    const mac = isMac();
    const names = commandsOf(isDeveloper).filter((name) => name !== "palette");
    return [
      ...names.map((name) => ({ id: name, name: words[name], kind: words.command, chord: chordText(KEYS[name], mac), act: () => run(name) })),
      ...[...pagesOf(isDeveloper), ...QUIET_PAGES.filter((page) => quiet.includes(page))].map((page) => ({ id: `page-${page}`, name: pages[page], kind: words.goTo, act: () => go({ page }) })),
      { id: "archived", name: words.archivedChats, kind: words.goTo, act: () => {
        show("sidebar");
        void chats.showArchived(true);
      } },
      ...(shared.length === 0 ? [] : [{ id: "shared", name: sharing.withMe, kind: words.goTo, act: () => {
        show("sidebar");
        chats.showShared(true);
      } }]),
      { id: "import", name: words.importChat, kind: words.command, act: () => {
        flushSync(() => show("sidebar"));
        document.getElementById("import-chat")?.click();
      } },
      { id: "saved-prompts", name: savedPrompts, kind: words.command, act: () => library.set({ isOpen: true }) },
      ...THEMES.map((theme) => ({ id: `theme-${theme}`, name: words.theme[theme], kind: words.command, act: () => settings.set({ theme }) })),
      ...all.map((chat) => ({ id: `chat-${chat.id}`, name: shownTitle(chat, words.untitled), kind: words.chat, act: () => go({ session: chat.id }) })),
      ...shared.map((chat) => ({
        id: `chat-${chat.id}`, name: shownTitle(chat, words.untitled), kind: sharing.whose(chat.shared_by ?? "", chat.shared_in), act: () => go({ session: chat.id }),
      })),
    ];
  }, [words, sharing, pages, all, shared, isDeveloper, quiet, savedPrompts]);
}
