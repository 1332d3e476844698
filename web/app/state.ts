// The state of the page, in one store: where the reader is, the client, the connection, what is asked of them.

import { type api, type Conversation, GatewayClient, type Link, Refused, emptyConversation } from "@chat-gateway/client";

import { noteServerTime } from "./clock";
import { type EventList, EventLog } from "./event-log";
import { writeStored, readStored, storedNames } from "./browser-storage";
import type { Language, Table } from "./language";
import { hashOf, NEW_CHAT, placeOf, type Place } from "./page-address";
import { useLanguage } from "./settings";
import { createStore, useStore } from "./store";

export interface Health {
  readonly demo: boolean;
  /** Empty where the server names none. */
  readonly model: string;
}

// The session on the screen, as far as its events are known: `live.ts` fills it.
export interface Live {
  /** Drawn from the events; empty for a new chat, and until the first page of the log is there. */
  readonly conversation: Conversation;
  /** The events behind it, oldest first, without a gap; another list when one was added. */
  readonly events: EventList;
  readonly state: "none" | "loading" | "ready" | "gone" | "failed";
  readonly error: Error | null;
  readonly link: Link | null;
  /** As the server had it when it was opened. */
  readonly details: api.SessionDetails | null;
}

// In a replay the fields of `Live` are those of what is played, and nothing can be sent, decided or changed.
export interface AppState extends Live {
  /** Of a replay: the session itself, which goes on beside it. `recording`: the title of a file, of which nothing is sent;
   * `pictures`: those that came with it, as addresses by their references. */
  readonly replay: { readonly live: Live; readonly recording: string | null; readonly pictures?: Readonly<Record<string, string>> } | null;
  readonly place: Place;
  readonly health: Health | null;
  /** The key dialog is open. */
  readonly keyNeeded: { readonly wasWrong: boolean; /** Where to sign in instead. */ readonly signIn: string | null; /** This browser may keep the key. */ readonly keepsKeys: boolean } | null;
  readonly settingsOpen: boolean;
  /** Read out to those who do not see the page. */
  readonly announcement: string;
}

export const NOTHING: Live = { conversation: emptyConversation(), events: EventLog.of([]), state: "none", error: null, link: null, details: null };

export const app = createStore<AppState>({
  ...NOTHING, replay: null, place: NEW_CHAT, health: null, keyNeeded: null, settingsOpen: false, announcement: "",
});

export function useApp<S>(select: (state: AppState) => S): S {
  return useStore(app, select);
}

// The session itself, on the screen or beside a replay.
export function live(): Live {
  const state = app.get();
  return state.replay?.live ?? state;
}

export function setLive(change: Partial<Live>): void {
  const { replay } = app.get();
  if (replay) app.set({ replay: { ...replay, live: { ...replay.live, ...change } } });
  else app.set(change);
}

// The words of a table in the reader's language.
export function useWords<W>(words: Table<W>): Table<W>[Language] {
  return words[useLanguage()];
}

// --- the client and its key --------------------------------------------------------------------------------------

const KEY = "gateway.key";
const ABOUT_THE_BROWSER = ["gateway.settings", "gateway.single-keys"]; // not about the reader
let giveKey: ((key: string) => void) | null = null;

export const client = new GatewayClient({
  url: new URL(".", location.href).href.replace(/\/$/, ""),
  key: readStored(KEY, "tab") ?? "",
  fetch: (input, init) => fetch(input, init).then(noteServerTime),
  onKeyNeeded: (wasWrong, { details }) => {
    const { sign_in: signIn, keeps_keys: keepsKeys } = details;
    app.set({ keyNeeded: { wasWrong, signIn: typeof signIn === "string" ? signIn : null, keepsKeys: keepsKeys === true } });
    return new Promise((resolve) => { giveKey = resolve; });
  },
});

// The reader's answer to the key dialog.
export function answerKey(key: string): void {
  writeStored(KEY, key, "tab");
  app.set({ keyNeeded: null });
  giveKey?.(key);
  giveKey = null;
}

// Has this browser keep the key, where no script reads it, and begins anew with it. A key that is wrong is asked for
// again; one that the browser does not keep after all is this tab's.
export async function keepKey(key: string): Promise<void> {
  const ask = (path: string, init: RequestInit = {}) => fetch(new URL(path, location.href.replace(/[?#].*$/, "")), { ...init, cache: "no-store" });
  const kept = await ask("auth/keep-key", { method: "POST", headers: { Authorization: `Bearer ${key}` } });
  if (!kept.ok || !(await ask("api/me")).ok) {
    answerKey(key);
    return;
  }
  writeStored(KEY, null, "tab");
  location.reload();
}

// The address at which the reader signs in, and from which they come back to where they are.
export function signInAddress(path: string): string {
  const address = new URL(`.${path}`, location.href);
  address.searchParams.set("to", `/${location.search}${location.hash}`);
  return address.href;
}

// Forgets the key and what the reader has written and seen here, and begins anew; a sign-in is ended first, here and
// where it was made.
export async function signOut(isSignedIn: boolean): Promise<void> {
  const address = isSignedIn ? await client.signOut().catch((error: unknown) => {
    if (error instanceof Refused && error.status === 401) return "/"; // it has ended by itself
    throw error;
  }) : "/";
  writeStored(KEY, null, "tab");
  for (const name of storedNames("gateway.")) if (!ABOUT_THE_BROWSER.includes(name)) writeStored(name, null);
  for (const name of storedNames("gateway.", "tab")) writeStored(name, null, "tab");
  location.replace(address === "/" ? location.pathname + location.search : address);
}

// --- where the reader is -----------------------------------------------------------------------------------------

const REMEMBERED = "gateway.session";

// Goes to a place. `replace`: instead of the place before, which *Back* then does not return to.
export function go(place: Partial<Place>, { replace = false } = {}): void {
  const next = { ...NEW_CHAT, ...place };
  const address = location.pathname + location.search + hashOf(next);
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  arrive(next);
}

// Follows the address from now on. Without a session in it, the last one that was open is shown, unless a new chat is
// asked for.
export function followAddress(isNew: boolean): void {
  const here = placeOf(location.hash);
  const last = readStored(REMEMBERED);
  if (here.session === null && here.page === null && last !== null && !isNew) go(placeOf(`s=${last}`), { replace: true });
  else arrive(here);
  addEventListener("popstate", () => arrive(placeOf(location.hash)));
}

function arrive(place: Place): void {
  if (place.session !== null || place.page === null) writeStored(REMEMBERED, place.session);
  app.set({ place });
}

// --- the rest ----------------------------------------------------------------------------------------------------

export function announce(text: string): void {
  app.set({ announcement: text });
}
