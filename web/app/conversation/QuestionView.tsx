// What a user asked, with its files, and below it: change it, and ‹ 2/3 › where it was asked more than once.

import { show, type Turn } from "@chat-gateway/client";
import { Pencil } from "lucide-react";
import { type SyntheticEvent, useEffect, useId, useRef, useState } from "react";

import { caller } from "../caller";
import { words as scheduleWords } from "../pages/schedules/schedule-words";
import { app, client, useApp, useWords } from "../state";
import { useStore } from "../store";
import { ActionButton, Trouble } from "./ActionButton";
import { AttachedFiles } from "./AttachedFiles";
import { type QuestionEdit, setQuestionEdit, useQuestionEdit } from "./question-edits";
import { isComposing, sends } from "./composing";
import { useMember } from "./members";
import { CopyButton } from "../CopyButton";
import { useSpeech } from "./speech";
import { LongText } from "./LongText";
import { send } from "./outbox";
import { useOpenTurnId } from "./running";
import { useMayWrite } from "../sidebar/shared-chats";

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
  const change = useQuestionEdit(session, turn);
  const [trouble, setTrouble] = useState<unknown>(null);
  const sender = useMember(session, turn.start?.by);
  const reader = useStore(caller, ({ me }) => me?.user_id.split("/").at(-1)); // members are named without their tenant
  if (turn.start === undefined) return null; // it is in a page of the log that is still to come
  return (
    <>
      {turn.start.dialect === "schedule" && <p className="sent-by">{schedules.sentBySchedule}</p>}
      {turn.start.by !== undefined && (sender === undefined || sender !== reader) && (
        <p className="sent-by">{words.sentBy(sender ?? words.aMember)}</p>
      )}
      <div className="question" dir="auto" data-turn={turn.id} title={speech.time(turn.startedAt)}>
        <LongText text={turn.input} wraps />
        <AttachedFiles files={turn.attachments} />
      </div>
      {change ? <ChangeForm session={session} turn={turn} change={change} /> : (
        <div className="branching">
          <Switcher session={session} turn={turn} onTrouble={setTrouble} />
          {isFree && mayWrite && (
            <button type="button" className="icon" title={words.changeQuestion} aria-label={words.changeQuestion}
              onClick={() => setQuestionEdit(session, turn, { text: turn.input, files: turn.attachments })}><Pencil aria-hidden /></button>
          )}
          <CopyButton text={() => turn.input} label={words.copyMessage} />
          <Trouble>{trouble !== null && speech.problem(trouble)}</Trouble>
        </div>
      )}
    </>
  );
}

const ALONE: readonly string[] = [];

function Switcher({ session, turn, onTrouble }: Props & { readonly onTrouble: (error: unknown) => void }) {
  const { words } = useSpeech();
  const all = useApp(({ conversation }) => turn.place === "branch" ? conversation.children.get(turn.parentId ?? "") : undefined) ?? ALONE;
  const isFree = useOpenTurnId() === undefined;
  const mayWrite = useMayWrite(session);
  const here = all.indexOf(turn.id);
  if (all.length < 2 || here < 0) return null;
  const to = (index: number, sign: string, label: string) => (
    <ActionButton label={label} disabled={!isFree || all[index] === undefined} onTrouble={onTrouble}
      act={() => switchTo(session, turn, index, all[index] ?? turn.id, mayWrite)}>{sign}</ActionButton>
  );
  return (
    <>
      {to(here - 1, "‹", words.variantBefore)}
      <span className="place">{here + 1}/{all.length}</span>
      {to(here + 1, "›", words.variantAfter)}
    </>
  );
}

// The first version is in the branch that the others left, each of those in one of its own.
// Who only reads looks at it, and the chat goes on where it was.
async function switchTo(session: string, { parentId = "root" }: Turn, index: number, wanted: string, mayWrite: boolean): Promise<void> {
  if (mayWrite) await activate(session, parentId, index);
  app.set({ conversation: show(app.get().conversation, wanted) });
}

async function activate(session: string, parentId: string, index: number): Promise<void> {
  const { branches } = await client.branches(session);
  const forks = branches.filter(({ branch, fork_turn_id: fork }) => branch > 0 && (fork ?? "root") === parentId);
  const branch = index === 0 ? forks[0]?.parent ?? 0 : forks[index - 1]?.branch;
  if (branch !== undefined) await client.activateBranch(session, branch);
}

function ChangeForm({ session, turn, change }: Props & { readonly change: QuestionEdit }) {
  const { words } = useSpeech();
  const id = useId();
  const { text, files } = change;
  const box = useRef<HTMLTextAreaElement>(null);
  const close = () => setQuestionEdit(session, turn, undefined);
  useEffect(() => {
    const { length } = box.current?.value ?? "";
    box.current?.focus();
    box.current?.setSelectionRange(length, length);
  }, []);
  const submit = (event?: SyntheticEvent) => {
    event?.preventDefault();
    if (text.trim() === "") return;
    send(session, text, files, { parent: turn.parentId ?? "root" });
    close();
  };
  return (
    <form className="branching" onSubmit={submit}>
      <label htmlFor={id} className="unseen">{words.changeQuestion}</label>
      <textarea ref={box} id={id} value={text} dir="auto" rows={Math.min(12, text.split("\n").length + 1)} onChange={(event) => setQuestionEdit(session, turn, { text: event.target.value, files })}
        onKeyDown={(event) => {
          if (isComposing(event)) return;
          if (event.key === "Escape") {
            event.preventDefault();
            close();
          } else if (sends(event)) submit();
        }} />
      <button type="submit" className="primary" disabled={text.trim() === ""}>{words.askChanged}</button>
      <button type="button" className="small" onClick={close}>{words.cancel}</button>
    </form>
  );
}
