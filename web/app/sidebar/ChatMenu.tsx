// The title of the session on the screen, and what can be done with it.

import { Ellipsis } from "lucide-react";
import { useEffect, useState } from "react";

import { client, useApp, useWords } from "../state";
import { useStore } from "../store";
import { useActions } from "./actions";
import { type Chat, chats } from "./chats";
import { Menu } from "./Menu";
import { words as table } from "./sidebar-words";

export interface ChatMenuProps {
  readonly session: string;
}

export function ChatMenu({ session }: ChatMenuProps) {
  const words = useWords(table);
  const listed = useStore(chats.store, (state) => state.chats.find(({ id }) => id === session));
  const [read, setRead] = useState<Chat | null>(null);
  const isThere = useApp((state) => state.state !== "gone");
  const isMissing = listed === undefined && read?.id !== session;
  useEffect(() => {
    if (!isMissing) return;
    let isHere = true;
    client.session(session).then((chat) => isHere && setRead(chat), () => undefined); // the conversation tells what is wrong
    return () => { isHere = false; };
  }, [session, isMissing]);
  const chat = listed ?? (read?.id === session ? read : null);
  if (!chat || !isThere) return <h1 className="title">{chat?.title}</h1>;
  return <Titled chat={chat} untitled={words.untitled} />;
}

function Titled({ chat, untitled }: { readonly chat: Chat; readonly untitled: string }) {
  const words = useWords(table);
  const { actions, dialog } = useActions(chat);
  const title = chat.title ?? untitled;
  return (
    <>
      <h1 className="title" dir="auto" title={title}>{title}</h1>
      <Menu label={words.actions(title)} icon={<Ellipsis />} actions={actions} />
      {dialog}
    </>
  );
}
