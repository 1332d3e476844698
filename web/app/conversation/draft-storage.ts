// Drafts outlast the page, and are shared by its tabs. Where two tabs write in one chat at the same time each keeps its
// own words, and is offered the other's: nothing is written over.

import type { AttachedFile } from "@chat-gateway/client";

import { parsed, readStored, storedNames, writeStored } from "../browser-storage";

export interface StoredDraft {
  readonly text: string;
  readonly files: readonly AttachedFile[];
}

const STORED_AS = "gateway.draft."; // and the chat's id; in the storage of a tab: its own, beside another's
const LEFT_AS = "gateway.draft-left."; // by a tab that was closed beside another's

export const isBlank = ({ text, files }: StoredDraft): boolean => text.trim() === "" && files.length === 0;

export const isSame = (one: StoredDraft, other: StoredDraft): boolean =>
  one.text === other.text && one.files.map(({ ref }) => ref).join() === other.files.map(({ ref }) => ref).join();

// Whether nothing of `part` is lost where `whole` takes its place.
export const has = (whole: StoredDraft, part: StoredDraft): boolean =>
  whole.text.includes(part.text.trim()) && part.files.every(({ ref }) => whole.files.some((each) => each.ref === ref));

// What this tab goes on with in each chat, and what was written elsewhere.
export function storedDrafts(): [chat: string, mine: StoredDraft, other: StoredDraft | null][] {
  const names = [...storedNames(STORED_AS), ...storedNames(STORED_AS, "tab")].map((name) => name.slice(STORED_AS.length));
  const left = storedNames(LEFT_AS).map((name) => name.slice(LEFT_AS.length));
  return [...new Set([...names, ...left])].map((chat) => {
    const shared = draftIn(readStored(STORED_AS + chat));
    const own = readStored(STORED_AS + chat, "tab");
    const leftover = draftIn(readStored(LEFT_AS + chat));
    const mine = own === null ? shared : draftIn(own);
    if (isSame(leftover, mine)) writeStored(LEFT_AS + chat, null);
    if (isBlank(mine) && isBlank(shared)) endDraft(chat, null);
    const other = [leftover, shared].find((each) => !isBlank(each) && !has(mine, each));
    return isBlank(mine) && other ? [chat, other, null] : [chat, mine, other ?? null];
  });
}

export function storeDraft(chat: string, mine: StoredDraft, other: StoredDraft | null): void {
  writeStored(STORED_AS + chat, JSON.stringify(mine));
  keepOwn(chat, mine, other);
}

// In this tab alone, where the common place is another's.
export function keepOwn(chat: string, mine: StoredDraft, other: StoredDraft | null): void {
  writeStored(STORED_AS + chat, other && JSON.stringify(mine), "tab");
  if (other === null) writeStored(LEFT_AS + chat, null);
}

// It was sent: the other tabs hear that, unless the place is wanted for what one of them wrote.
export function endDraft(chat: string, other: StoredDraft | null): void {
  writeStored(STORED_AS + chat, other && JSON.stringify(other));
  writeStored(STORED_AS + chat, null, "tab");
}

// The page goes, perhaps for good: the words of this tab alone are for the next one.
export function leaveDraft(chat: string, mine: StoredDraft): void {
  if (readStored(STORED_AS + chat, "tab") === null) return; // who signed out leaves nothing
  if (!isBlank(mine) && !has(draftIn(readStored(STORED_AS + chat)), mine)) writeStored(LEFT_AS + chat, JSON.stringify(mine));
}

// Another tab wrote, or (null) sent what stood there before.
export function hearDrafts(hear: (chat: string, before: StoredDraft, now: StoredDraft | null) => void): void {
  addEventListener("storage", ({ key, oldValue, newValue, storageArea }) => {
    if (storageArea === localStorage && key?.startsWith(STORED_AS)) {
      hear(key.slice(STORED_AS.length), draftIn(oldValue), newValue === null ? null : draftIn(newValue));
    }
  });
}

function draftIn(stored: string | null): StoredDraft {
  const { text, files } = (parsed(stored) ?? {}) as Partial<StoredDraft>;
  return { text: typeof text === "string" ? text : "", files: Array.isArray(files) ? files as AttachedFile[] : [] };
}
