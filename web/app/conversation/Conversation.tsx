// The conversation and the composer. `session` null: a new chat, whose session is made with its first message.

import { useEffect, useState } from "react";

import { BeginningBar } from "../folders/BeginningBar";
import { endTemporaryChats } from "../folders/temporary";
import { TemporaryBar } from "../folders/TemporaryBar";
import { reopen } from "../live";
import { useApp } from "../state";
import { keepAnnouncing } from "./announcements";
import { showActiveBranch } from "./branch";
import { Composer } from "./Composer";
import { useSpeech } from "./speech";
import { keepOutbox, useMessages } from "./outbox";
import { PendingMessage } from "./PendingMessage";
import { TurnList } from "./TurnList";
import { may, useChat } from "../sidebar/shared-chats";
import { Welcome } from "./Welcome";
import "./conversation.css";
import "./prose.css";

keepOutbox();
keepAnnouncing();
endTemporaryChats();

export interface ConversationProps {
  readonly session: string | null;
}

export function Conversation({ session }: ConversationProps) {
  const speech = useSpeech();
  const { words } = speech;
  const state = useApp((value) => value.state);
  const error = useApp((value) => value.error);
  const isEmpty = useApp(({ conversation, replay }) => !replay && conversation.path.length === 0 && conversation.first <= 1);
  const isGone = state === "gone";
  const isReplay = useApp(({ replay }) => replay !== null);
  const played = useApp(({ conversation }) => conversation.sessionId ?? "");
  const chat = isReplay ? played : isGone ? null : session;
  const messages = useMessages().filter((message) => !isReplay && message.session === chat);
  const [sent, setSent] = useState(0);
  const isReady = state === "ready";
  useEffect(() => {
    if (session !== null && isReady) void showActiveBranch(session).catch(() => undefined); // the newest one is shown without
  }, [session, isReady]);

  const details = useChat(chat);
  const hasTurns = !(isReady && isEmpty);
  const pending = messages.map((message) => <PendingMessage key={message.id} message={message} />);
  return (
    <section className="conversation" aria-label={words.conversation}>
      {isGone && <p className="note error" role="alert">{words.gone}</p>}
      {state === "failed" && (
        <p className="note error" role="alert">
          {speech.problem(error)} <button type="button" className="small" onClick={reopen}>{words.again}</button>
        </p>
      )}
      {chat !== null && hasTurns ? <TurnList session={chat} sent={sent}>{pending}</TurnList>
        : messages.length === 0 ? <Welcome session={chat} />
          : <div className="scroll"><div id="messages">{pending}</div></div>}
      {chat === null && !isReplay && !isGone && <BeginningBar />}
      {chat !== null && !isReplay && details?.temporary === true && <TemporaryBar />}
      {isReplay ? <p className="note" role="status">{words.replaying}</p>
         : !may(details, "write") ? <p className="note" role="status">{speech.fill(words.readOnly, { owner: details?.shared_by ?? words.aMember })}</p>
           : <Composer session={chat} onSent={() => setSent((count) => count + 1)} />}
    </section>
  );
}
