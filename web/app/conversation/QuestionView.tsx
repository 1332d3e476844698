// What a user asked, with its files, and below it: change it, where the form then stands in its place, and other versions.

import type { Turn } from "@chat-gateway/client";
import { Pencil } from "lucide-react";
import { type SyntheticEvent, useEffect, useId, useRef, useState } from "react";

import { caller } from "../caller";
import { words as scheduleWords } from "../pages/schedules/schedule-words";
import { useWords } from "../state";
import { useStore } from "../store";
import { Trouble } from "./ActionButton";
import { AttachedFiles } from "./AttachedFiles";
import { type QuestionEdit, setQuestionEdit, useQuestionEdit } from "./question-edits";
import { sends } from "../input-methods";
import { useMember } from "./members";
import { CopyButton } from "../CopyButton";
import { useSpeech } from "./speech";
import { MessageTime } from "./MessageTime";
import { LongText } from "./LongText";
import { Variants } from "./Variants";
import { send } from "./outbox";
import { useOpenTurnId } from "./running";
import { may, useChat, useMayWrite } from "../sidebar/shared-chats";

interface Props {
  readonly session: string;
  readonly turn: Turn;
}

export function QuestionView({ session, turn }: Props) {
  const speech = useSpeech();
  const { words } = speech;
  const schedules = useWords(scheduleWords);
  const isFree = useOpenTurnId() === undefined;
  const mayWrite = useMayWrite(session);
  const isOwn = may(useChat(session), "own"); // whose project is gone: most of what nobody has a name for is theirs
  const change = useQuestionEdit(session, turn);
  const [trouble, setTrouble] = useState<unknown>(null);
  const sender = useMember(session, turn.start?.by);
  const reader = useStore(caller, ({ me }) => me?.user_id.split("/").at(-1)); // members are named without their tenant
  if (turn.start === undefined) return null; // it is in a page of the log that is still to come
  return (
    <>
      {turn.start.dialect === "schedule" && <p className="sent-by">{schedules.sentBySchedule}</p>}
      {turn.start.by !== undefined && (sender === undefined ? !isOwn : sender !== reader) && (
        <p className="sent-by">{words.sentBy(sender ?? words.aMember)}</p>
      )}
      {!change && (
        <div className="question" dir="auto" data-turn={turn.id} title={speech.time(turn.startedAt)}>
          {turn.input !== "" && <LongText text={turn.input} wraps />}
          <AttachedFiles files={turn.attachments} />
        </div>
      )}
      {change ? <ChangeForm session={session} turn={turn} change={change} /> : (
        <div className="branching">
          <MessageTime at={turn.startedAt} />
          <Variants session={session} turn={turn} below="question" onTrouble={setTrouble} />
          {isFree && mayWrite && (
            <button type="button" className="icon" title={words.changeQuestion} aria-label={words.changeQuestion}
              onClick={() => setQuestionEdit(session, turn, { text: turn.input, files: turn.attachments })}><Pencil aria-hidden /></button>
          )}
          {turn.input !== "" && <CopyButton text={() => turn.input} label={words.copyMessage} />}
          <Trouble>{trouble !== null && speech.problem(trouble)}</Trouble>
        </div>
      )}
    </>
  );
}

function ChangeForm({ session, turn, change }: Props & { readonly change: QuestionEdit }) {
  const { words } = useSpeech();
  const id = useId();
  const { text, files } = change;
  const isEmpty = text.trim() === "" && files.length === 0;
  const box = useRef<HTMLTextAreaElement>(null);
  const close = () => setQuestionEdit(session, turn, undefined);
  useEffect(() => {
    const { length } = box.current?.value ?? "";
    box.current?.focus();
    box.current?.setSelectionRange(length, length);
  }, []);
  const submit = (event?: SyntheticEvent) => {
    event?.preventDefault();
    if (isEmpty) return;
    send(session, text, files, { parent: turn.parentId ?? "root" });
    close();
  };
  return (
    <form className="branching" onSubmit={submit}>
      <label htmlFor={id} className="unseen">{words.changeQuestion}</label>
      <textarea ref={box} id={id} value={text} dir="auto" rows={Math.min(12, text.split("\n").length + 1)} onChange={(event) => setQuestionEdit(session, turn, { text: event.target.value, files })}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            event.preventDefault();
            close();
          } else if (sends(event)) submit();
        }} />
      <button type="submit" className="primary" disabled={isEmpty}>{words.askChanged}</button>
      <button type="button" className="small" onClick={close}>{words.cancel}</button>
    </form>
  );
}
