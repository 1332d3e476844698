// A message on its way, and what became of it when it did not get there.

import { Refused } from "@chat-gateway/client";

import { inARow } from "../language";
import { useOnline } from "../online";
import { app, client } from "../state";
import { ActionButton } from "./ActionButton";
import { AttachedFiles } from "./AttachedFiles";
import { codeOf, mayHelp } from "./failures";
import { type Speech, useSpeech } from "./speech";
import { LongText } from "./LongText";
import { openTurnId } from "./running";
import { lostFile, type Message, sendAgain, takeBack, withdraw } from "./outbox";

const ignore = () => undefined;

export function PendingMessage({ message }: { readonly message: Message }) {
  const speech = useSpeech();
  const { words, fill } = speech;
  const isOnline = useOnline();
  const { id, text, files, error } = message;
  const state = message.state === "sending" && !isOnline ? "unsent" : message.state; // it is tried for a while, in vain
  const lost = lostFile(message);
  const reason = codeOf(error) === "payload_too_large" ? tooLong(message, speech) : lost ? fill(words.aboutFile, { name: lost.name, reason: speech.problem(error) }) : speech.problem(error);
  return (
    <article className={`question ${state === "refused" ? "refused" : "pending"}`} dir="auto">
      {text !== "" && <LongText text={text} wraps />}
      <AttachedFiles files={files} />
      <div className="why" role={state === "refused" ? "alert" : "status"} dir="auto">
        {state === "sent" && (
          <>
            <span>{words.queued}</span>{" "}
            <ActionButton act={() => takeBack(id)} onTrouble={ignore}>{words.edit}</ActionButton>{" "}
            <ActionButton act={() => withdraw(id)} onTrouble={ignore}>{words.withdraw}</ActionButton>{" "}
            <ActionButton act={makeWay} onTrouble={ignore}>{words.sendNow}</ActionButton>
          </>
        )}
        {state === "unsent" && (
          <>
            <span>{error instanceof Refused ? inARow(reason, words.triedAgain) : words.unsent}</span>{" "}
            <button type="button" className="small" onClick={() => sendAgain(id)}>{words.again}</button>{" "}
            <button type="button" className="small" onClick={() => void takeBack(id)}>{words.edit}</button>
          </>
        )}
        {state === "refused" && (
          <>
            <span>{words.notSent} {reason}</span>{" "}
            {mayHelp(error) && !lost && <button type="button" className="small" onClick={() => sendAgain(id)}>{words.again}</button>}
            <button type="button" className="small" onClick={() => void takeBack(id)}>{words.edit}</button>
          </>
        )}
      </div>
    </article>
  );
}

// The server counts bytes, which a letter has one to four of: how many letters of this text there may be.
function tooLong({ text, error }: Message, speech: Speech): string {
  const { details } = error as { details?: { max_body_size?: number } };
  const { length } = new TextEncoder().encode(JSON.stringify(text));
  const most = Math.floor(text.length * (details?.max_body_size ?? length) / Math.max(1, length) / 100) * 100;
  return speech.fill(speech.words.messageTooLong, { count: speech.number(text.length), most: speech.number(most) });
}

// Stops the turn that runs, so that the next message has its turn.
async function makeWay(): Promise<void> {
  const { sessionId } = app.get().conversation;
  const running = openTurnId();
  if (running !== undefined && sessionId !== undefined) await client.cancel(sessionId, running);
}
