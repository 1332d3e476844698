// What is being written: a text with its files, one for each chat. Texts and files that are uploaded outlast the page.

import type { AttachedFile } from "@chat-gateway/client";

import { writeStored, readStoredJson, storedNames } from "../browser-storage";
import { client } from "../state";
import { createStore, useStore } from "../store";
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
  readonly note: "" | "uploading" | "tooManyFiles" | "notUploaded" | "calledOff" | "needsText";
}

const EMPTY: Draft = { text: "", uploads: [], isWaiting: false, note: "" };
const STORED_AS = "gateway.draft."; // and the chat's id: tabs do not write over what another one keeps

// `null`, the new chat, is kept under the empty name.
const keyOf = (chat: string | null) => chat ?? "";

const drafts = createStore<Record<string, Draft>>(read());

export const useDraft = (chat: string | null): Draft => useStore(drafts, (all) => all[keyOf(chat)] ?? EMPTY);
export const draftOf = (chat: string | null): Draft => drafts.get()[keyOf(chat)] ?? EMPTY;

function change(chat: string | null, fields: Partial<Draft>): void {
  drafts.set({ [keyOf(chat)]: { ...draftOf(chat), ...fields } });
}

export const write = (chat: string | null, text: string): void => change(chat, { text, note: "" });

// Takes the draft away: what it said, with its files.
export function take(chat: string | null): { text: string; files: AttachedFile[] } {
  const { text, uploads } = draftOf(chat);
  change(chat, EMPTY);
  return { text, files: uploads.flatMap(({ artifact }) => artifact ? [artifact] : []) };
}

// Brings a message back that was not sent; what is written by now stands below it. `lost`: the trouble of one of its files.
export function bringBack(chat: string | null, text: string, files: readonly AttachedFile[], lost?: { ref: string; error: unknown }): void {
  const draft = draftOf(chat);
  const back = files.map((artifact): Upload => {
    const { name, size, ref } = artifact;
    return lost?.ref === ref ? { id: ref, name, size, state: "failed", error: lost.error } : { id: ref, name, size, state: "ready", artifact };
  });
  change(chat, { text: [text, draft.text].filter(Boolean).join("\n"), uploads: [...back, ...draft.uploads] });
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

export function attach(chat: string | null, files: readonly File[]): void {
  const { uploads } = draftOf(chat);
  const room = MAX_FILES - uploads.length;
  const added = files.slice(0, room).map((file): Upload => ({
    id: randomName(), name: plainName(file.name) || "file", size: file.size, file, state: "uploading",
  }));
  change(chat, { uploads: [...uploads, ...added], note: files.length > room ? "tooManyFiles" : "" });
  for (const each of added) void start(each);
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
  if (text.trim() === "") {
    change(chat, { note: uploads.length > 0 ? "needsText" : "", isWaiting: false });
    return false;
  }
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
    if (file.size === 0) throw Object.assign(new Error(), { code: "empty_file" });
    const uploaded = await patiently(() => client.keepArtifact(file, { name }, { signal: aborter.signal, onProgress: (share) => settle(id, { share }) }));
    const artifact: AttachedFile = { ref: uploaded.ref, name: uploaded.name ?? name, mime: uploaded.mime, size: uploaded.size };
    unsent.add(uploaded.ref);
    if (aborter.signal.aborted) withdraw(uploaded.ref);
    else settle(id, { state: "ready", artifact, name: artifact.name });
  } catch (error) {
    if (!aborter.signal.aborted) settle(id, { state: "failed", error });
  } finally {
    aborters.delete(id);
  }
}

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

// A name as the server keeps it: the last part of a path, without what cannot be seen or turns the reading around.
function plainName(name: string): string {
  return (name.split(/[/\\]/).at(-1) ?? "").replace(/[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu, "").trim();
}

const randomName = () => Math.random().toString(36).slice(2);

// --- outlasting the page -------------------------------------------------------------------------------------------

interface StoredDraft {
  readonly text: string;
  readonly files: readonly AttachedFile[];
}

function read(): Record<string, Draft> {
  const found = storedNames(STORED_AS).map((name) => [name.slice(STORED_AS.length), (readStoredJson(name) ?? {}) as Partial<StoredDraft>] as const);
  return Object.fromEntries(found.map(([chat, { text = "", files = [] }]) => {
    const uploads = files.map((artifact) => ({ id: artifact.ref, name: artifact.name, size: artifact.size, state: "ready" as const, artifact }));
    return [chat, { ...EMPTY, text, uploads }];
  }));
}

let written = drafts.get();

drafts.subscribe(() => {
  for (const [chat, draft] of Object.entries(drafts.get())) {
    if (draft === written[chat]) continue;
    const { text, uploads } = draft;
    const stored: StoredDraft = { text, files: uploads.flatMap(({ artifact }) => artifact ? [artifact] : []) };
    writeStored(STORED_AS + chat, text === "" && uploads.length === 0 ? null : JSON.stringify(stored));
  }
  written = drafts.get();
});

// Files that are still on their way do not outlast the page.
addEventListener("beforeunload", (event) => {
  const isUploading = Object.values(drafts.get()).some(({ uploads }) => uploads.some(({ state }) => state === "uploading"));
  if (isUploading) event.preventDefault();
});
