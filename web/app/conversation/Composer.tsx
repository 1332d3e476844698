// Where a message is written, with its files. While a turn runs, a message waits its turn; Escape stops what runs.

import { ArrowUp, Paperclip, Square } from "lucide-react";
import { type ClipboardEvent, type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from "react";

import { client, go } from "../state";
import { enterIsNewLine, sends } from "../input-methods";
import { attach, draftOf, isLong, isReady, isVeryLong, MAX_FILES, note as say, offerAsFile, pasteAsFile, take, useDraft, write } from "./drafts";
import { useSpeech } from "./speech";
import { editLastQuestion } from "./question-edits";
import { useOpenTurnId } from "./running";
import { send } from "./outbox";
import { Slash } from "../library/Slash";
import { useSettings } from "../settings";
import { isMac } from "../sidebar/commands";
import { DraftFiles } from "./DraftFiles";
import { DraftOffers } from "./DraftOffers";
import { droppedFiles, pastedFiles } from "./dropped-files";

const GROWS_BY_ITSELF = CSS.supports("field-sizing", "content");
const HIGHEST = 240; // pixels, as the style has it
const isHigh = (text: string): boolean => text.length > 10_000;

// Which way a text is written. Of a long one the first letter says it: where the browser looks for it, each key takes twice as long.
function directionOf(text: string): "auto" | "ltr" | "rtl" {
  if (!isHigh(text)) return "auto";
  const [letter = ""] = /\p{L}/u.exec(text) ?? [];
  return /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}]/u.test(letter) ? "rtl" : "ltr";
}

interface Props {
  readonly session: string | null;
  readonly onSent: () => void;
}

export function Composer({ session, onSent }: Props) {
  const { words, fill } = useSpeech();
  const draft = useDraft(session);
  const enterSends = useSettings((value) => value.enterSends);
  const running = useOpenTurnId();
  const openTurn = session === null ? undefined : running;
  const box = useRef<HTMLTextAreaElement>(null);
  const chooser = useRef<HTMLInputElement>(null);
  const [stopping, setStopping] = useState<string | null>(null);
  const isOver = useDrops(async (transfer) => {
    const { files, note } = await droppedFiles(transfer, MAX_FILES);
    attach(session, files);
    if (note !== "") say(session, note);
  }, box);

  const submit = (onConflict: "queue" | "interrupt" = "queue") => {
    if (!isReady(session)) return;
    const { text, files } = take(session);
    send(session, text, files, { onConflict });
    onSent();
  };
  const areThere = draft.isWaiting && draft.uploads.every(({ state }) => state !== "uploading");
  useEffect(() => {
    if (areThere) submit();
    // eslint-disable-next-line react-hooks/exhaustive-deps -- when the last file is there, whatever was drawn since
  }, [areThere]);

  const stop = async () => {
    if (session === null || openTurn === undefined) return;
    setStopping(openTurn);
    await client.cancel(session, openTurn).catch(() => setStopping(null)); // it can be pressed again
  };
  useEscape(openTurn !== undefined, box, () => void stop());

  const press = (event: KeyboardEvent) => {
    if (event.key === "ArrowUp" && !event.shiftKey && draftOf(session).text === "" && editLastQuestion(session)) event.preventDefault();
    if (!sends(event)) return;
    event.preventDefault();
    submit(enterSends && (event.ctrlKey || event.metaKey) ? "interrupt" : "queue");
  };
  const paste = (event: ClipboardEvent<HTMLTextAreaElement>) => {
    const { clipboardData: pasted } = event;
    const text = pasted.getData("text/plain");
    const files = pastedFiles({ files: [...pasted.files], types: pasted.types, getText: () => text });
    if (files.length > 0) {
      event.preventDefault();
      attach(session, files);
      return;
    }
    const at = event.currentTarget.selectionStart;
    if (isVeryLong(text) && pasteAsFile(session, text, at, words.pastedName)) event.preventDefault();
    else if (isLong(text)) offerAsFile(session, text, at);
  };

  useLayoutEffect(() => {
    const field = box.current;
    if (!field || GROWS_BY_ITSELF) return;
    field.style.height = "auto";
    // A long text is not laid out twice more to find out that it is high.
    field.style.height = `${isHigh(draft.text) ? HIGHEST : Math.min(field.scrollHeight, HIGHEST)}px`;
  }, [draft.text]);
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) box.current?.focus();
  }, []);

  const sendLabel = openTurn === undefined ? words.send : words.queue;
  const isEmpty = draft.text.trim() === "" && draft.uploads.length === 0;
  const note = draft.note === "" ? "" : fill(words[draft.note], { count: MAX_FILES });
  return (
    <>
      <form id="composer" className={isOver ? "composer dropping" : "composer"} onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}>
        <DraftOffers session={session} draft={draft} />
        <Slash text={draft.text} box={box} onWrite={(text) => write(session, text)} />
        <DraftFiles session={session} draft={draft} onMakeRoom={() => go({ page: "artifacts" })} />
        <p id="draft-note" role="status">{isOver ? words.dropHere : note}</p>
        <button type="button" id="attach" className="icon" title={words.attach} aria-label={words.attach} onClick={() => chooser.current?.click()}>
          <Paperclip aria-hidden />
        </button>
        <input ref={chooser} type="file" multiple hidden aria-label={words.files} onChange={({ target }) => {
          attach(session, [...target.files ?? []]);
          target.value = ""; // the same file can be chosen again
          box.current?.focus();
        }} />
        <textarea ref={box} id="input" rows={1} dir={directionOf(draft.text)} autoComplete="off" enterKeyHint={enterIsNewLine() ? "enter" : "send"} aria-label={words.message} placeholder={words.placeholder}
          value={draft.text} onChange={(event) => write(session, event.target.value)} onKeyDown={press} onPaste={paste} />
        {openTurn !== undefined && (
          <button type="button" id="stop" className="round stop" disabled={stopping === openTurn} title={words.stop}
            aria-label={stopping === openTurn ? words.stopping : words.stop} onClick={() => void stop()}><Square aria-hidden /></button>
        )}
        {(openTurn === undefined || !isEmpty) && (
          <button type="submit" id="send" className="round" title={sendLabel} aria-label={sendLabel}
            disabled={draft.isWaiting}><ArrowUp aria-hidden /></button>
        )}
      </form>
      <p className="hint">{enterSends ? words.keys : isMac() ? words.keysWithCmd : words.keysWithCtrl}</p>
    </>
  );
}

// Files dropped anywhere on the page: a browser would leave it for the file otherwise. Whether some are held over it.
function useDrops(onDrop: (transfer: DataTransfer) => Promise<void>, box: React.RefObject<HTMLTextAreaElement | null>): boolean {
  const [isOver, setOver] = useState(false);
  const take = useRef(onDrop);
  useEffect(() => {
    take.current = onDrop;
  });
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true;
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      // Over the inspector a recording is dropped, which is played.
      setOver(!(event.target instanceof Element) || event.target.closest(".inspect") === null);
    };
    const leave = (event: DragEvent) => event.relatedTarget === null && setOver(false);
    const drop = (event: DragEvent) => {
      setOver(false);
      if (!hasFiles(event) || event.dataTransfer === null) return;
      event.preventDefault();
      void take.current(event.dataTransfer);
      box.current?.focus();
    };
    document.addEventListener("dragover", over);
    document.addEventListener("dragleave", leave);
    document.addEventListener("drop", drop);
    return () => {
      document.removeEventListener("dragover", over);
      document.removeEventListener("dragleave", leave);
      document.removeEventListener("drop", drop);
    };
  }, [box]);
  return isOver;
}

// Escape, where nothing else on the page takes it.
function useEscape(isOn: boolean, box: React.RefObject<HTMLTextAreaElement | null>, act: () => void): void {
  const latest = useRef(act);
  useEffect(() => {
    latest.current = act;
  });
  useEffect(() => {
    if (!isOn) return undefined;
    const press = (event: globalThis.KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      // In another field it means that field.
      const field = event.target instanceof Element ? event.target.closest("input, textarea, select") : null;
      if (field !== null && field !== box.current) return;
      if (document.querySelector("dialog[open], details.menu[open], [role=menu], [popover]:popover-open") === null) latest.current();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [isOn, box]);
}

