// A chat as the page draws it, in a file of its own: nothing in it asks for anything, and nothing can be sent.

import { isOperation, type Turn } from "@chat-gateway/client";
import { MessageSquarePlus, Printer } from "lucide-react";
import { memo, useEffect, useState } from "react";

import { useSpeech } from "../app/conversation/speech";
import { TurnView } from "../app/conversation/TurnView";
import { usePrinting } from "../app/conversation/printing";
import { isWithdrawn } from "../app/conversation/withdrawn";
import { useApp, useWords } from "../app/state";
import type { SharedChat } from "./chat-data";
import { words as table } from "./reader-words";
import { Timings } from "./Timings";

const AT_FIRST = 2; // turns that are drawn before the first of them is seen
const MORE = 4; // that are drawn with each step after that

export function Reader({ chat }: { readonly chat: SharedChat }) {
  const words = useWords(table);
  const speech = useSpeech();
  const turns = useApp(({ conversation }) => chat.isReplay ? conversation.order : conversation.path);
  const isPrinting = usePrinting();
  const [count, setCount] = useState(AT_FIRST);
  const isWhole = isPrinting || count >= turns.length;
  useEffect(() => {
    if (isWhole) return undefined;
    const timer = setTimeout(() => setCount(count + MORE));
    return () => clearTimeout(timer);
  }, [isWhole, count]);
  return (
    <div className="reader">
      <header>
        <h1 dir="auto">{chat.title}</h1>
        <p>{words.made(speech.time(chat.createdAt))}</p>
        {chat.isLinked && <a className="small print" href={copyAddress(location.pathname)}><MessageSquarePlus aria-hidden /> {words.continue}</a>}
        <button type="button" className="small print" onClick={() => print()}><Printer aria-hidden /> {words.print}</button>
      </header>
      <main id="messages" aria-label={words.chat} aria-busy={!isWhole}>
        {(isWhole ? turns : turns.slice(0, count)).map((id, place) => <ReadTurn key={id} id={id} position={place + 1} count={turns.length} chat={chat} />)}
        {chat.isCut && <p className="note warning">{words.cut}</p>}
        {chat.isDamaged && <p className="note error" role="alert">{words.damaged}</p>}
      </main>
    </div>
  );
}

// Where the page of the gateway makes the chat: the last part of the path is the secret of the link.
const copyAddress = (path: string): string => `../#c=${path.slice(path.lastIndexOf("/") + 1)}`;

interface Props {
  readonly id: string;
  readonly position: number;
  readonly count: number;
  readonly chat: SharedChat;
}

const ReadTurn = memo(function ReadTurn({ id, position, count, chat }: Props) {
  const words = useWords(table);
  const speech = useSpeech();
  const turn = useApp(({ conversation }) => conversation.turns.get(id));
  if (turn === undefined || (isWithdrawn(turn) && !chat.isReplay)) return null;
  const facts = [
    chat.isReplay && (isOperation(id) ? words.beside : ""), speech.time(turn.startedAt), turn.start?.model ?? "",
    ...(chat.isReplay ? [placeOf(turn, words), id] : []),
  ];
  return (
    <>
      <p className="turn-facts"><time dateTime={new Date(turn.startedAt).toISOString()}>{facts.filter(Boolean).join(" · ")}</time></p>
      <TurnView session="" id={id} position={position} count={count} />
      {turn.start && turn.outcome === undefined && <p className="note">{words.unfinished}</p>}
      {chat.isReplay && <Timings turn={turn} events={chat.events} />}
    </>
  );
});

// Where it was asked, unless that is after the turn before it.
function placeOf({ start }: Turn, words: (typeof table)["en"]): string {
  const parent = start?.parent_turn_id;
  return parent === undefined ? "" : parent === "root" ? words.fromTheBeginning : words.after(parent);
}
