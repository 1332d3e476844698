// A chat in the list: its title, how it stands, and a menu of what can be done with it.

import { Ellipsis, Users } from "lucide-react";
import { memo } from "react";

import { hashOf, NEW_CHAT } from "../page-address";
import { go, useWords } from "../state";
import { useActions } from "./actions";
import { type Chat, CHAT_TYPE } from "./chats";
import { Menu } from "./Menu";
import { MarkedText } from "./MarkedText";
import { choose, useIsChoosing, useIsChosen } from "./several";
import { words as severalWords } from "./several-words";
import { may } from "./shared-chats";
import { words as shareWords } from "./share-words";
import { shownTitle } from "./title";
import { words as table } from "./sidebar-words";

interface Props {
  readonly chat: Chat;
  readonly isOpen: boolean;
  readonly isUnread: boolean;
  /** Of its open turn; undefined where none is open. */
  readonly status: Chat["status"];
  /** The one that Tab comes to; arrow keys go on from there. */
  readonly isStop: boolean;
  readonly onChosen: () => void;
}

export const ChatRow = memo(function ChatRow({ chat, isOpen, isUnread, status, isStop, onChosen }: Props) {
  const words = useWords(table);
  const { actions, ask, dialog } = useActions(chat, true);
  const sharing = useWords(shareWords);
  const isChoosing = useIsChoosing();
  const isShared = chat.shared !== undefined && chat.shared_by === undefined;
  const title = shownTitle(chat, words.untitled);
  const { found } = chat;
  const place = { session: chat.id, turn: found?.turn_id ?? null };
  // Renamed since it was found, it has no marks.
  const pieces = found?.title?.map(({ text }) => text).join("") === title ? found.title : [{ text: title, hit: false }];
  const state = status === "running" ? "running" : status === undefined ? isUnread ? "unread" : null : "waiting";
  if (isChoosing) return <ChosenRow chat={chat} title={title} isOpen={isOpen} isStop={isStop} />;
  return (
    <li className="chat-row" data-chat={chat.id} data-open={isOpen} onDragStart={(event) => event.dataTransfer.setData(CHAT_TYPE, chat.id)}>
      <a
        href={hashOf({ ...NEW_CHAT, ...place }) || "#"} aria-current={isOpen ? "page" : undefined} tabIndex={isStop ? 0 : -1}
        onClick={(event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return; // another tab, which the link opens
          event.preventDefault();
          go(place);
          onChosen();
        }}
        onKeyDown={(event) => {
          const what = ({ F2: "rename", Delete: "delete" } as const)[event.key];
          if (what === undefined) return;
          event.preventDefault();
          ask(what);
        }}
      >
        <span className="chat-title" dir="auto"><MarkedText spans={pieces} /></span>
        {chat.shared_by !== undefined && <span className="chat-snippet" dir="auto">{sharing.whose(chat.shared_by, chat.shared_in)}</span>}
        {found?.text && <span className="chat-snippet" dir="auto"><MarkedText spans={found.text} /></span>}
        <span className="chat-marks">
          {isShared && <span title={sharing.sharedIn(chat.shared_in)}><Users aria-hidden="true" /><span className="unseen">{sharing.sharedIn(chat.shared_in)}</span></span>}
          {state && <span className="chat-state" data-state={state} title={words[state]}><span className="unseen">{words[state]}</span></span>}
        </span>
      </a>
      <Menu label={words.actions(title)} icon={<Ellipsis />} actions={actions} tabIndex={isStop ? 0 : -1} />
      {dialog}
    </li>
  );
});

type ChosenProps = Pick<Props, "chat" | "isOpen" | "isStop"> & { readonly title: string };

// While several are chosen a row is a box to tick; another's cannot be.
function ChosenRow({ chat, title, isOpen, isStop }: ChosenProps) {
  const words = useWords(severalWords);
  const isChosen = useIsChosen(chat.id);
  return (
    <li className="chat-row" data-chat={chat.id} data-open={isOpen}>
      <label className="chat-choice">
        <input type="checkbox" checked={isChosen} disabled={!may(chat, "own")} tabIndex={isStop ? 0 : -1} aria-label={words.chooseOne(title)} onChange={({ target }) => choose(chat, target.checked)} />
        <span className="chat-title" dir="auto">{title}</span>
      </label>
    </li>
  );
}
