// The title of the session on the screen, whose it is where others see it too, and what can be done with it.

import { Ellipsis, Users } from "lucide-react";

import { pageSettings } from "../page-settings";
import { useApp, useWords } from "../state";
import { useActions } from "./actions";
import type { Chat } from "./chats";
import { Menu } from "./Menu";
import { may, useChat } from "./shared-chats";
import { shownTitle } from "./title";
import { words as shareWords } from "./share-words";
import { words as table } from "./sidebar-words";

export interface ChatMenuProps {
  readonly session: string;
}

export function ChatMenu({ session }: ChatMenuProps) {
  const words = useWords(table);
  const chat = useChat(session);
  const isThere = useApp((state) => state.state !== "gone");
  const title = chat ? shownTitle(chat, "") : "";
  if (!chat || !isThere) return <h1 className={title === "" ? "unseen" : "title"} dir="auto">{title === "" ? pageSettings.name : title}</h1>; // an empty one is no heading
  return <Titled chat={chat} untitled={words.untitled} />;
}

function Titled({ chat, untitled }: { readonly chat: Chat; readonly untitled: string }) {
  const words = useWords(table);
  const sharing = useWords(shareWords);
  const { actions, ask, dialog } = useActions(chat);
  const title = shownTitle(chat, untitled);
  const whose = chat.shared === undefined ? null
    : chat.shared_by === undefined ? sharing.sharedIn(chat.shared_in)
      : [sharing.whose(chat.shared_by, chat.shared_in), may(chat, "write") ? "" : sharing.readOnly].filter(Boolean).join(" · ");
  return (
    <>
      <div className="titled">
        <h1 className="title" dir="auto" title={title}>{title}</h1>
        {whose !== null && <button type="button" className="whose" title={sharing.people} onClick={() => ask("share")}><Users aria-hidden="true" /><span dir="auto">{whose}</span></button>}
      </div>
      <Menu label={words.actions(title)} icon={<Ellipsis />} actions={actions} />
      {dialog}
    </>
  );
}
