// Messages on their way to the server. One that the network did not take is sent again, under the same id, until the
// server says yes or no, also after a reload. It is out of here when the log has its turn.

import { type AttachedFile, Refused } from "@chat-gateway/client";

import { modelNow } from "../caller";
import { writeStored, readStoredJson, storedNames } from "../browser-storage";
import { app, client, go } from "../state";
import { createStore, useStore } from "../store";
import { beginAgain, type FirstBody, firstBody } from "../folders/beginning";
import { bringBack, rename, wereSent } from "./drafts";
import { codeOf, mayHelp } from "./failures";
import { markGone } from "./artifact-files";

export interface Message {
  /** Its `client_message_id`. */
  readonly id: string;
  /** Its place among the others. */
  readonly at: number;
  /** null: of a new chat, whose session is still to be made. */
  readonly session: string | null;
  readonly text: string;
  readonly files: readonly AttachedFile[];
  /** The turn after which it is asked; absent: the last one. */
  readonly parent?: string;
  readonly onConflict: "queue" | "interrupt";
  /** Absent: the server's. */
  readonly model?: string;
  /** What its chat begins with, where that is still to be made. */
  readonly first?: FirstBody;
  /** `unsent`: it goes when the connection is back. `sent`: its turn is to come. */
  readonly state: "sending" | "sent" | "unsent" | "refused";
  readonly turn?: string;
  readonly error?: unknown;
}

const STORED_AS = "gateway.outbox."; // and the id: tabs do not write over what another one keeps
const MAX_WAIT_MS = 30_000;
const FIRST_WAIT_MS = 2_000;

const outbox = createStore<{ messages: readonly Message[] }>({ messages: read() });

export const useMessages = (): readonly Message[] => useStore(outbox, ({ messages }) => messages);

export function send(session: string | null, text: string, files: readonly AttachedFile[], more: Partial<Pick<Message, "parent" | "onConflict">> = {}): void {
  const message: Message = {
    ...(session === null ? { first: firstBody() } : {}), onConflict: "queue", ...modelNow(session), ...more, id: randomId(), at: 1 + Math.max(0, ...outbox.get().messages.map((each) => each.at)),
    session, text, files, state: "sending",
  };
  outbox.set({ messages: [...outbox.get().messages, message] });
  void deliver(message.id);
}

export function sendAgain(id: string): void {
  update(id, { state: "sending", error: undefined });
  void deliver(id);
}

// Back to where it was written.
export async function takeBack(id: string): Promise<void> {
  const message = find(id);
  if (!message) return;
  if (message.state === "sent" && message.session && message.turn) await client.cancel(message.session, message.turn);
  const lost = lostFile(message);
  drop(id);
  bringBack(message.session, message.text, message.files, lost && { ref: lost.ref, error: message.error });
}

// A message that waits for its turn is not sent after all.
export async function withdraw(id: string): Promise<void> {
  const message = find(id);
  if (message?.session && message.turn) await client.cancel(message.session, message.turn);
  drop(id);
}

// The file on account of which a message was refused.
export function lostFile({ files, error }: Message): AttachedFile | undefined {
  if (codeOf(error) !== "artifact_not_found") return undefined;
  const { details = {}, message = "" } = error as { details?: { ref?: unknown }; message?: string };
  return files.find(({ ref }) => ref === details.ref || message.includes(ref));
}

const delivering = new Set<string>();
const timers = new Map<string, ReturnType<typeof setTimeout>>();
const waits = new Map<string, number>();

async function deliver(id: string): Promise<void> {
  const message = find(id);
  if (!message || delivering.has(id)) return;
  delivering.add(id);
  clearTimeout(timers.get(id));
  try {
    const session = message.session ?? await makeSession(message);
    const { text, files, parent, onConflict, model } = message;
    const turn = await client.startTurn(session, {
      message: text, client_message_id: id, on_conflict: onConflict,
      ...(files.length > 0 ? { attachments: files.map(({ ref }) => ({ ref })) } : {}),
      ...(model === undefined ? {} : { model }),
      ...(parent === undefined ? {} : { parent_turn_id: parent }),
    });
    wereSent(files);
    waits.delete(id);
    if (turn.status === "done") drop(id);
    else update(id, { state: "sent", turn: turn.turn_id });
    madeFor.delete(session);
    settle();
  } catch (error) {
    fail(id, error);
  } finally {
    delivering.delete(id);
  }
}

// The session of a new chat. Its name follows from the message's id, so that a repetition finds the same one; under
// which id it is stored is the server's to say.
async function makeSession({ id, first }: Message): Promise<string> {
  const name = `s_${id}`;
  const isThere = (error: unknown) => error instanceof Refused && error.status === 409;
  const { id: session } = await client.createSession({ ...first, id: name }).catch((error: unknown) => {
    if (isThere(error)) return client.session(name);
    throw error;
  });
  madeFor.set(session, id);
  const others = outbox.get().messages.map((each) => each.session === null ? { ...each, session } : each);
  outbox.set({ messages: others });
  rename(null, session);
  if (app.get().place.session === null && app.get().place.page === null) go({ session }, { replace: true });
  return session;
}

const madeFor = new Map<string, string>(); // sessions without a turn yet, by the message that each was made for

// A chat whose first message was refused never began.
async function takeSessionBack(session: string, first: FirstBody = {}): Promise<void> {
  madeFor.delete(session);
  await client.deleteSession(session).catch(() => undefined);
  outbox.set({ messages: outbox.get().messages.map((each) => each.session === session ? { ...each, session: null } : each) });
  rename(session, null);
  if (app.get().place.session !== session) return;
  go({ session: null }, { replace: true });
  beginAgain(first);
}

function fail(id: string, error: unknown): void {
  const message = find(id);
  if (!message) return;
  const lost = lostFile({ ...message, error });
  if (lost) markGone(lost.ref);
  if (lost || !mayHelp(error)) {
    update(id, { state: "refused", error });
    if (message.session !== null && madeFor.get(message.session) === id) void takeSessionBack(message.session, message.first);
    return;
  }
  update(id, { state: "unsent", error });
  const wait = Math.min((waits.get(id) ?? FIRST_WAIT_MS / 2) * 2, MAX_WAIT_MS);
  waits.set(id, wait);
  timers.set(id, setTimeout(() => void deliver(id), wait));
}

function deliverAll(): void {
  for (const { id, state } of outbox.get().messages) if (state === "unsent") void deliver(id);
}

// Messages whose turns the log has are shown from there.
function settle(): void {
  const { conversation, place } = app.get();
  const newest = conversation.order.slice(-20).map((id) => conversation.turns.get(id)?.start?.client_message_id);
  const left = outbox.get().messages.filter(({ session, id, turn }) =>
    session !== place.session || !(newest.includes(id) || (turn !== undefined && conversation.turns.has(turn))));
  if (left.length !== outbox.get().messages.length) outbox.set({ messages: left });
}

const find = (id: string) => outbox.get().messages.find((each) => each.id === id);
const drop = (id: string) => outbox.set({ messages: outbox.get().messages.filter((each) => each.id !== id) });
const update = (id: string, fields: Partial<Message>) =>
  outbox.set({ messages: outbox.get().messages.map((each) => each.id === id ? { ...each, ...fields } : each) });

// 128 random bits; `crypto.randomUUID` is missing where a page came over plain HTTP.
function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function read(): readonly Message[] {
  const found = storedNames(STORED_AS).map((name) => readStoredJson(name) as Message | null).filter((each) => each !== null);
  return found.sort((one, other) => one.at - other.at).map((message) => ({ ...message, state: "sending" as const }));
}

const written = new Map<string, Message>();

function write(messages: readonly Message[]): void {
  const waiting = messages.filter(({ state }) => state !== "refused");
  for (const [id] of written) {
    if (waiting.some((each) => each.id === id)) continue;
    written.delete(id);
    writeStored(STORED_AS + id, null);
  }
  for (const message of waiting) {
    if (written.get(message.id) === message) continue;
    written.set(message.id, message);
    writeStored(STORED_AS + message.id, JSON.stringify({ ...message, error: undefined }));
  }
}

// Begins to look after what is in the outbox; called once.
export function keepOutbox(): void {
  let order: readonly string[] | null = null;
  let isLive = false;
  app.subscribe(() => {
    const { conversation, link } = app.get();
    if (conversation.order !== order) {
      order = conversation.order;
      settle();
    }
    const wasLive = isLive;
    isLive = link?.state === "live";
    if (isLive && !wasLive) deliverAll();
  });
  addEventListener("online", deliverAll);
  write(outbox.get().messages);
  outbox.subscribe(() => write(outbox.get().messages));
  addEventListener("storage", ({ key, newValue }) => {
    // Another tab took it back, or has sent it.
    const message = key?.startsWith(STORED_AS) && newValue === null ? find(key.slice(STORED_AS.length)) : undefined;
    if (message?.state === "unsent") drop(message.id);
  });
  for (const { id } of outbox.get().messages) void deliver(id);
}
