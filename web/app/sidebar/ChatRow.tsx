// A chat in the list: its title, how it stands, and a menu of what can be done with it.

import { Ellipsis } from "lucide-react";
import { memo, useEffect, useRef, useState } from "react";

import { hashOf, NEW_CHAT } from "../place";
import { client, go, useWords } from "../state";
import { useActions } from "./actions";
import type { Chat } from "./chats";
import { marked } from "./highlight";
import { Menu } from "./Menu";
import { Pieces } from "./Pieces";
import { snippetOf } from "./snippets";
import { words as table } from "./words";

interface Props {
  readonly chat: Chat;
  readonly isOpen: boolean;
  readonly isUnread: boolean;
  /** The one that Tab comes to; arrow keys go on from there. */
  readonly isStop: boolean;
  readonly query: string;
  readonly onChosen: () => void;
}

export const ChatRow = memo(function ChatRow({ chat, isOpen, isUnread, isStop, query, onChosen }: Props) {
  const words = useWords(table);
  const { actions, ask, dialog } = useActions(chat);
  const title = chat.title ?? words.untitled;
  const state = chat.status === "running" ? "running" : chat.status === undefined ? isUnread ? "unread" : null : "waiting";
  return (
    <li className="chat-row" data-chat={chat.id} data-open={isOpen}>
      <a
        href={hashOf({ ...NEW_CHAT, session: chat.id }) || "#"} aria-current={isOpen ? "page" : undefined} tabIndex={isStop ? 0 : -1}
        onClick={(event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return; // another tab, which the link opens
          event.preventDefault();
          go({ session: chat.id });
          onChosen();
        }}
        onKeyDown={(event) => {
          const what = ({ F2: "rename", Delete: "delete" } as const)[event.key];
          if (what === undefined) return;
          event.preventDefault();
          ask(what);
        }}
      >
        <span className="chat-title" dir="auto"><Pieces pieces={marked(title, query)} /></span>
        {query !== "" && <Snippet key={query} session={chat.id} query={query} />}
        {state && <span className="chat-state" data-state={state} title={words[state]}><span className="unseen">{words[state]}</span></span>}
      </a>
      <Menu label={words.actions(title)} icon={<Ellipsis />} actions={actions} tabIndex={isStop ? 0 : -1} />
      {dialog}
    </li>
  );
});

// Where the words stand in the chat; it is looked up once the row is on the screen.
function Snippet({ session, query }: { readonly session: string; readonly query: string }) {
  const place = useRef<HTMLSpanElement>(null);
  const [text, setText] = useState("");
  useEffect(() => {
    if (!place.current) return;
    const ending = new AbortController();
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      seen.disconnect();
      snippetOf(client, session, query, ending.signal).then((found) => setText(found ?? ""), () => undefined); // the title is there without it
    });
    seen.observe(place.current);
    return () => {
      seen.disconnect();
      ending.abort();
    };
  }, [session, query]);
  return <span ref={place} className="chat-snippet" dir="auto"><Pieces pieces={marked(text, query)} /></span>;
}
