// The questions before several chats are archived or deleted, which say how many they are, and how far it has come.

import { useState } from "react";

import { Dialog } from "../Dialog";
import { type Language } from "../language";
import { inWords } from "../pages/problems";
import { useLanguage } from "../settings";
import { app, go, useWords } from "../state";
import { type Chat, chats } from "./chats";
import type { Outcome } from "./for-each";
import { showNotice } from "./notice";
import { words as table } from "./several-words";

interface Props {
  readonly chats: readonly Chat[];
  readonly onDone?: () => void;
  readonly onClose: () => void;
}

/** Archives them, or takes them back, and says so with a way to undo it. */
export async function archiveEach(ids: readonly string[], archived: boolean, language: Language, onCount?: (count: number) => void): Promise<void> {
  const outcome = await chats.changeEach(ids, { archived }, onCount);
  const words = table[language];
  const told = archived ? words.archived(outcome.done.length) : words.unarchived(outcome.done.length);
  tell(outcome, told, language, () => void archiveEach(outcome.done, !archived, language));
}

export function ArchiveSeveral({ chats: some, onClose }: Props) {
  const words = useWords(table);
  const language = useLanguage();
  return (
    <Sure title={words.archiveTitle(some.length)} hint={words.archiveHint} act={words.archive} count={some.length} onClose={onClose}
      onSure={(onCount) => archiveEach(some.map(({ id }) => id), true, language, onCount)} />
  );
}

export function DeleteSeveral({ chats: some, onDone, onClose }: Props) {
  const words = useWords(table);
  const language = useLanguage();
  const archived = some.filter((chat) => chat.archived).length;
  const remove = async (onCount: (count: number) => void) => {
    const outcome = await chats.removeEach(some.map(({ id }) => id), onCount);
    if (outcome.done.includes(app.get().place.session ?? "")) go({});
    onDone?.();
    tell(outcome, words.deleted(outcome.done.length), language);
  };
  return (
    <Sure title={words.deleteTitle(some.length)} hint={[words.deleteHint, archived > 0 ? words.amongArchived(archived) : ""].filter(Boolean).join(" ")}
      act={words.deleteNow(some.length)} isDangerous count={some.length} onClose={onClose} onSure={remove} />
  );
}

interface SureProps {
  readonly title: string;
  readonly hint: string;
  readonly act: string;
  readonly isDangerous?: boolean;
  readonly count: number;
  readonly onSure: (onCount: (count: number) => void) => Promise<void>;
  readonly onClose: () => void;
}

function Sure({ title, hint, act, isDangerous = false, count, onSure, onClose }: SureProps) {
  const words = useWords(table);
  const [done, setDone] = useState<number | null>(null);
  const run = async () => {
    setDone(0);
    await onSure(setDone);
    onClose();
  };
  return (
    <Dialog title={title} {...(done === null ? { onClose } : {})}>
      <p>{hint}</p>
      <p role="status" className="faint">{done !== null && words.progress(done, count)}</p>
      <div className="buttons">
        <button type="button" className={isDangerous ? "primary dangerous" : "primary"} disabled={done !== null || count === 0} onClick={() => void run()}>{act}</button>
        <button type="button" className="small" data-first disabled={done !== null} onClick={onClose}>{words.cancel}</button>
      </div>
    </Dialog>
  );
}

function tell({ done, error }: Outcome, text: string, language: Language, undo?: () => void): void {
  const reason = error === null ? "" : inWords(error, language);
  showNotice({ text: [done.length > 0 ? text : "", reason].filter(Boolean).join(" "), isTrouble: error !== null, ...(undo && done.length > 0 ? { undo } : {}) });
}
