// What is being written: a text with its files, one for each chat. Texts and files that are uploaded outlast the page.

import type { AttachedFile } from "@chat-gateway/client";

import { client } from "../state";
import { createStore, useStore } from "../store";
import { endDraft, has, hearDrafts, isBlank, isSame, keepOwn, leaveDraft, storeDraft, type StoredDraft, storedDrafts } from "./draft-storage";
import { codeOf } from "./failures";
import { isGone, onGone } from "./artifact-files";

export const MAX_FILES = 20; // of a message

export interface Upload {
  readonly id: string;
  readonly name: string;
  readonly size: number;
  readonly file?: File;
  /** 0 to 1, while it is uploaded. */
  readonly share?: number;
  readonly state: "uploading" | "ready" | "failed";
  readonly artifact?: AttachedFile;
  readonly error?: unknown;
}

export interface Draft {
  readonly text: string;
  readonly uploads: readonly Upload[];
  /** It goes as soon as its files are there. */
  readonly isWaiting: boolean;
  readonly note: "" | "uploading" | "tooManyFiles" | "notUploaded" | "calledOff" | "folderEmpty" | "folderUnreadable";
  /** A long text that was pasted: it can be a file instead, and is one where it has an upload. */
  readonly pasted: Pasted | null;
  /** What another tab has written in this chat meanwhile. */
  readonly other: StoredDraft | null;
}

export interface Pasted {
  readonly text: string;
  readonly at: number;
  readonly upload?: string;
}

const EMPTY: Draft = { text: "", uploads: [], isWaiting: false, note: "", pasted: null, other: null };
const NOTHING: StoredDraft = { text: "", files: [] };
const LONG_TEXT = 20_000; // characters
const MANY_LINES = 500;
const VERY_LONG_TEXT = 200_000; // characters, beyond which a browser's field answers each key late
const VERY_MANY_LINES = 4_000;
const STORING_MS = 400; // of a text that takes time to store, at most so often

// `null`, the new chat, is kept under the empty name.
const keyOf = (chat: string | null) => chat ?? "";

const drafts = createStore<Record<string, Draft>>(read());

export const useDraft = (chat: string | null): Draft => useStore(drafts, (all) => all[keyOf(chat)] ?? EMPTY);
export const draftOf = (chat: string | null): Draft => drafts.get()[keyOf(chat)] ?? EMPTY;

const touched = new Set<string>(); // chats in which this tab has words of its own

function change(chat: string | null, fields: Partial<Draft>): void {
  touched.add(keyOf(chat));
  drafts.set({ [keyOf(chat)]: { ...draftOf(chat), ...fields } });
}

export function write(chat: string | null, text: string): void {
  const { pasted } = draftOf(chat);
  const isThere = pasted !== null && (pasted.upload !== undefined || text.includes(pasted.text));
  change(chat, { text, note: "", pasted: isThere ? pasted : null });
}

export const note = (chat: string | null, said: Draft["note"]): void => change(chat, { note: said });

// Takes the draft away: what it said, with its files.
export function take(chat: string | null): { text: string; files: AttachedFile[] } {
  const { text, uploads, other } = draftOf(chat);
  follow(chat, { ...EMPTY, other });
  endDraft(keyOf(chat), other);
  return { text, files: filesOf(uploads) };
}

function filesOf(uploads: readonly Upload[]): AttachedFile[] {
  return uploads.flatMap(({ artifact }) => artifact ? [artifact] : []);
}

function uploadsOf(files: readonly AttachedFile[]): Upload[] {
  return files.map((artifact) => ({ id: artifact.ref, name: artifact.name, size: artifact.size, state: "ready", artifact }));
}

// --- a long text ---------------------------------------------------------------------------------------------------

export const isLong = (text: string): boolean => isBeyond(text, LONG_TEXT, MANY_LINES);

// Too long to be written on in a field.
export const isVeryLong = (text: string): boolean => isBeyond(text, VERY_LONG_TEXT, VERY_MANY_LINES);

function isBeyond(text: string, characters: number, most: number): boolean {
  if (text.length > characters) return true;
  let lines = 1;
  for (let at = text.indexOf("\n"); at >= 0 && lines <= most; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines > most;
}

// A text that was pasted becomes a file at once. Whether there was room for it.
export function pasteAsFile(chat: string | null, pasted: string, at: number, name: string): boolean {
  const text = pasted.replace(/\r\n?/g, "\n");
  const [upload] = attach(chat, [new File([text], name, { type: "text/plain" })]);
  if (upload !== undefined) change(chat, { pasted: { text, at, upload } });
  return upload !== undefined;
}

// A long text stands in the draft, or comes to stand there: it is offered as a file.
export function offerAsFile(chat: string | null, text: string, at: number): void {
  change(chat, { pasted: { text: text.replace(/\r\n?/g, "\n"), at } });
}

export function attachPasted(chat: string | null, name: string): void {
  const { text, pasted } = draftOf(chat);
  if (!pasted) return;
  const at = text.startsWith(pasted.text, pasted.at) ? pasted.at : text.indexOf(pasted.text);
  if (at < 0) return;
  const [upload] = attach(chat, [new File([pasted.text], name, { type: "text/plain" })]);
  if (upload === undefined) return; // there is no room for it
  change(chat, { text: text.slice(0, at) + text.slice(at + pasted.text.length), pasted: { text: pasted.text, at, upload } });
}

// As it was pasted.
export function keepPasted(chat: string | null): void {
  const { pasted, uploads } = draftOf(chat);
  const upload = uploads.find(({ id }) => id === pasted?.upload);
  if (pasted && upload) {
    remove(chat, upload);
    const { text } = draftOf(chat);
    change(chat, { text: text.slice(0, pasted.at) + pasted.text + text.slice(pasted.at) });
  }
  change(chat, { pasted: null });
}

// Puts words of the conversation into the message, to be answered.
export function quote(chat: string | null, words: string): void {
  const { text } = draftOf(chat);
  const quoted = words.trim().split("\n").map((line) => `> ${line}`.trimEnd()).join("\n");
  write(chat, `${text.trim() === "" ? "" : `${text.trimEnd()}\n\n`}${quoted}\n\n`);
}

// Attaches a file that the gateway has. Whether there was room for it.
export function attachKept(chat: string | null, file: AttachedFile): boolean {
  const { uploads } = draftOf(chat);
  if (uploads.some(({ artifact }) => artifact?.ref === file.ref)) return true;
  const hasRoom = uploads.length < MAX_FILES;
  change(chat, hasRoom ? { uploads: [...uploads, ...uploadsOf([file])], note: "" } : { note: "tooManyFiles" });
  return hasRoom;
}

// Brings a message back that was not sent; what is written by now stands below it. `lost`: the trouble of one of its files.
export function bringBack(chat: string | null, text: string, files: readonly AttachedFile[], lost?: { ref: string; error: unknown }): void {
  const draft = draftOf(chat);
  const back = uploadsOf(files).map((each): Upload => {
    const { id, name, size } = each;
    return lost?.ref === id ? { id, name, size, state: "failed", error: lost.error } : each;
  });
  change(chat, { text: [text, draft.text].filter(Boolean).join("\n"), uploads: [...back, ...draft.uploads] });
  if (isLong(text)) offerAsFile(chat, text, 0);
}

// A new chat has an id now: what is written belongs to it.
export function rename(from: string | null, to: string | null): void {
  const draft = draftOf(from);
  if (draft === EMPTY) return;
  drafts.set({ [keyOf(to)]: draft, [keyOf(from)]: EMPTY });
}

// --- files ---------------------------------------------------------------------------------------------------------

const unsent = new Set<string>(); // references of what was uploaded here and went with no message

export function wereSent(files: readonly AttachedFile[]): void {
  for (const { ref } of files) unsent.delete(ref);
}

// The ids of their uploads.
export function attach(chat: string | null, files: readonly File[]): string[] {
  const { uploads } = draftOf(chat);
  const room = MAX_FILES - uploads.length;
  const added = files.slice(0, room).map((file): Upload => ({
    id: randomName(), name: plainName(file.name) || "file", size: file.size, file, state: "uploading",
  }));
  change(chat, { uploads: [...uploads, ...added], note: files.length > room ? "tooManyFiles" : "" });
  for (const each of added) void start(each);
  return added.map(({ id }) => id);
}

export function retry(upload: Upload): void {
  settle(upload.id, { state: "uploading", error: undefined });
  void start(upload);
}

const aborters = new Map<string, AbortController>();

// It goes with no message: what was uploaded for it need not stay.
export function remove(chat: string | null, upload: Upload): void {
  aborters.get(upload.id)?.abort();
  const draft = draftOf(chat);
  const uploads = draft.uploads.filter(({ id }) => id !== upload.id);
  change(chat, { uploads, isWaiting: false, note: draft.isWaiting ? "calledOff" : "" });
  if (upload.artifact && unsent.delete(upload.artifact.ref)) withdraw(upload.artifact.ref);
}

// Whether the draft can go now; if not, it says why, and goes by itself when its files are there.
export function isReady(chat: string | null): boolean {
  const { text, uploads } = draftOf(chat);
  if (text.trim() === "" && uploads.length === 0) return false;
  if (uploads.some(({ state }) => state === "uploading")) {
    change(chat, { isWaiting: true, note: "uploading" });
    return false;
  }
  const isComplete = uploads.every(({ state }) => state === "ready");
  change(chat, { isWaiting: false, note: isComplete ? "" : "notUploaded" });
  return isComplete;
}

function settle(id: string, fields: Partial<Upload>): void {
  for (const [key, draft] of Object.entries(drafts.get())) {
    if (!draft.uploads.some((each) => each.id === id)) continue;
    drafts.set({ [key]: { ...draft, uploads: draft.uploads.map((each) => each.id === id ? { ...each, ...fields } : each) } });
  }
}

const ATTEMPTS = 5; // of one upload, while the gateway takes no more at a time: those of another tab, perhaps
let last: Promise<void> = Promise.resolve();

// One after the other: a gateway takes few of one user at a time.
function start(upload: Upload): Promise<void> {
  last = last.then(() => send(upload));
  return last;
}

async function send({ id, name, file }: Upload): Promise<void> {
  if (!file) return;
  const aborter = new AbortController();
  aborters.set(id, aborter);
  try {
    // A folder that was dropped where it cannot be told from a file, or what was moved since.
    await file.slice(0, 1).arrayBuffer().catch(() => Promise.reject(withCode("unreadable_file")));
    if (file.size === 0) throw withCode("empty_file");
    const uploaded = await patiently(() => client.keepArtifact(file, { name }, { signal: aborter.signal, onProgress: (share) => settle(id, { share }) }));
    const { ref, mime, size, reading } = uploaded;
    const artifact: AttachedFile = { ref, name: uploaded.name ?? name, mime, size, ...(reading ? { reading } : {}) };
    unsent.add(uploaded.ref);
    if (aborter.signal.aborted) withdraw(uploaded.ref);
    else settle(id, { state: "ready", artifact, name: artifact.name });
  } catch (error) {
    if (!aborter.signal.aborted) settle(id, { state: "failed", error });
  } finally {
    aborters.delete(id);
  }
}

const withCode = (code: string) => Object.assign(new Error(), { code });

async function patiently<T>(act: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await act();
    } catch (error) {
      if ((error as { status?: number }).status !== 429 || attempt === ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000 * attempt));
    }
  }
}

function withdraw(ref: string): void {
  client.deleteArtifact(ref).catch(() => undefined); // it expires
}

// A file was deleted: it goes with no message, and there may be room for another one.
onGone(() => {
  for (const { uploads } of Object.values(drafts.get())) {
    for (const each of uploads) {
      if (each.artifact && isGone(each.artifact.ref)) {
        settle(each.id, { state: "failed", artifact: undefined, error: { code: "artifact_not_found" } } as unknown as Partial<Upload>);
      } else if (codeOf(each.error) === "artifacts_full") retry(each);
    }
  }
});

// A name as the server keeps it: the last part of a path, without what cannot be seen or turns the reading around. Emoji
// are made of several with U+200D, and Persian and Hindi words are written with U+200C.
function plainName(name: string): string {
  return (name.split(/[/\\]/).at(-1) ?? "").replace(/(?![\u200c\u200d])[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu, "").trim();
}

const randomName = () => Math.random().toString(36).slice(2);

// --- outlasting the page -------------------------------------------------------------------------------------------

function read(): Record<string, Draft> {
  return Object.fromEntries(storedDrafts().map(([chat, { text, files }, other]) => [chat, { ...EMPTY, text, uploads: uploadsOf(files), other }]));
}

let written = drafts.get();
let timer: ReturnType<typeof setTimeout> | undefined;

const toStore = ({ text, uploads }: Draft): StoredDraft => ({ text, files: filesOf(uploads) });

function store(): void {
  clearTimeout(timer);
  timer = undefined;
  for (const [chat, draft] of Object.entries(drafts.get())) {
    if (draft !== written[chat]) storeDraft(chat, toStore(draft), draft.other);
  }
  written = drafts.get();
}

drafts.subscribe(() => {
  const isSlow = Object.entries(drafts.get()).some(([chat, draft]) => draft !== written[chat] && draft.text.length > LONG_TEXT);
  if (!isSlow) store();
  else timer ??= setTimeout(store, STORING_MS);
});

addEventListener("pagehide", () => {
  if (timer !== undefined) store();
  for (const [chat, draft] of Object.entries(drafts.get())) if (draft.other !== null) leaveDraft(chat, toStore(draft));
});

// --- other tabs ----------------------------------------------------------------------------------------------------

hearDrafts((chat, before, now) => {
  const draft = drafts.get()[chat] ?? EMPTY;
  const mine = toStore(draft);
  const { text, files } = now ?? NOTHING;
  if (!touched.has(chat) || isBlank(mine) || (now === null ? isSame(mine, before) : has(now, mine))) {
    if (draft.uploads.some(({ artifact }) => artifact === undefined)) return; // they are on their way
    follow(chat, { ...draft, text, uploads: uploadsOf(files), other: null });
    return;
  }
  const other = now === null || has(mine, now) ? null : now;
  if (other === draft.other) return;
  keepOwn(chat, mine, other);
  setStored(chat, { ...draft, other });
});

// Shows what is stored already: no words of this tab.
function follow(chat: string | null, draft: Draft): void {
  touched.delete(keyOf(chat));
  setStored(keyOf(chat), draft);
}

function setStored(chat: string, draft: Draft): void {
  written = { ...written, [chat]: draft };
  drafts.set({ [chat]: draft });
}

// Changes places with what another tab has written; that is offered in its turn.
export function takeOther(chat: string | null): void {
  const draft = draftOf(chat);
  if (draft.other === null) return;
  const mine = toStore(draft);
  change(chat, { text: draft.other.text, uploads: uploadsOf(draft.other.files), other: isBlank(mine) ? null : mine, pasted: null });
}

export const leaveOther = (chat: string | null): void => change(chat, { other: null });

// Files that are still on their way do not outlast the page.
addEventListener("beforeunload", (event) => {
  const isUploading = Object.values(drafts.get()).some(({ uploads }) => uploads.some(({ state }) => state === "uploading"));
  if (isUploading) event.preventDefault();
});
