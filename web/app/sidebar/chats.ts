// The reader's chats, kept as the server has them: one small request every few seconds tells of all of them, whichever
// runs, waits or has something new.

import { type api, type GatewayClient, Refused } from "@chat-gateway/client";

import { now } from "../clock";
import { client } from "../state";
import { createStore, type Store } from "../store";
import { forEach, type Outcome } from "./for-each";
import { beginSeen, keptSeen, keepSeen, type Seen } from "./seen";

const PAGE = 50;
const BUSY_MS = 2_500; // between two requests while something runs or waits
const IDLE_MS = 10_000;
const HIDDEN_MS = 30_000; // while nobody looks at the tab: its title tells of what waits

export type Chat = api.ListedSession;

/** What is dragged when a chat is. */
export const CHAT_TYPE = "application/x-gateway-chat";

export interface ChatList {
  readonly chats: readonly Chat[];
  /** Cursor of what is older; null: there is nothing older. */
  readonly next: string | null;
  readonly state: "loading" | "ready" | "failed";
  readonly error: Error | null;
}

export interface ChatsState extends ChatList {
  /** What was looked for, where, and what was found. */
  readonly query: string;
  readonly filter: Filter;
  readonly found: ChatList | null;
  /** What was put away, while it is shown. */
  readonly archived: ChatList | null;
  /** What others share with the reader, and whether it is shown. */
  readonly shared: ChatList;
  readonly isSharedShown: boolean;
  /** Those of folders that were opened, by the folder. */
  readonly folders: Readonly<Record<string, ChatList>>;
  /** Calls that wait for a person. */
  readonly approvals: readonly api.Approval[];
  /** What the reader has seen of each chat. */
  readonly seen: Seen;
  /** The midnight before the newest answer, Unix milliseconds. */
  readonly day: number;
}

const EMPTY: ChatList = { chats: [], next: null, state: "loading", error: null };

/** Absent: anywhere. */
export interface Filter {
  readonly found_in?: "title" | "messages";
  /** Used in so many days, today with it. */
  readonly days?: number;
  readonly project_id?: string;
  /** Absent: the archived ones too. */
  readonly archived?: "true" | "false";
}

type Where = "chats" | "archived" | "found" | "shared" | "folder";

export interface Chats {
  readonly store: Store<ChatsState>;
  /** Keeps the list as the server has it; returns what ends that. */
  watch(): () => void;
  /** Asks now. */
  refresh(): Promise<void>;
  /** The next page of the list that is shown. */
  more(): Promise<void>;
  search(query: string): Promise<void>;
  /** Where a search looks from now on: it is made anew. */
  look(filter: Filter): Promise<void>;
  showArchived(isShown: boolean): Promise<void>;
  /** Asks what others share with the reader. */
  readShared(): Promise<void>;
  showShared(isShown: boolean): void;
  /** Asks for the chats of a folder, also those that others share there. */
  showFolder(id: string): Promise<void>;
  moreOfFolder(id: string): Promise<void>;
  /** The reader has seen the chat to event `head`. */
  see(id: string, head: number): void;
  /** What changes of a chat on the server: title, pinned, archived. */
  change(id: string, change: api.SessionChanges): Promise<void>;
  /** The same for each of several. `onCount` is told how many have been tried. */
  changeEach(ids: readonly string[], change: api.SessionChanges, onCount?: (count: number) => void): Promise<Outcome>;
  removeEach(ids: readonly string[], onCount?: (count: number) => void): Promise<Outcome>;
  /** `onGone` is called when it is gone, before the lists tell of it. */
  remove(id: string, onGone?: () => void): Promise<void>;
}

export function createChats(server: GatewayClient): Chats {
  const store = createStore<ChatsState>({
    ...EMPTY, query: "", filter: {}, found: null, archived: null, shared: EMPTY, isSharedShown: false, folders: {}, approvals: [], seen: keptSeen(), day: midnight(),
  });
  let asking: Promise<void> | null = null;
  let waiting = ""; // the chats that waited when the approvals were asked for
  let ending: AbortController | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let searching: AbortController | null = null;

  let etag: string | null = null;

  // The first page; null: it is as it was.
  async function newest(): Promise<api.SessionPage | null> {
    try {
      const headers: HeadersInit = { "Accept": "application/json", ...(etag === null ? {} : { "If-None-Match": etag }) };
      const response = await server.connection.send("/api/sessions", { headers }, { limit: PAGE });
      etag = response.headers.get("ETag");
      return await response.json() as api.SessionPage;
    } catch (error) {
      if (error instanceof Refused && error.status === 304) return null;
      throw error;
    }
  }

  async function ask(): Promise<void> {
    try {
      const isFirst = store.get().state !== "ready";
      const [page, pinned] = await Promise.all([newest(), isFirst ? server.sessions({ pinned: true, limit: 200 }) : null]);
      const { chats, next } = store.get();
      store.set({ state: "ready", error: null, day: midnight(), seen: beginSeen(store.get().seen, now()) });
      if (page === null) return;
      const merged = mergePage([...chats, ...pinned?.sessions ?? []], isFirst ? page.next ?? null : next, page);
      store.set({ chats: alike(chats, merged.chats), next: merged.next });
      await askApprovals(merged.chats);
    } catch (error) {
      const { state } = store.get();
      store.set({ state: state === "ready" ? "ready" : "failed", error: error as Error });
    }
  }

  // Only when another chat waits, or one waits for something else: the rest of the time nothing is asked for.
  async function askApprovals(sessions: readonly Chat[]): Promise<void> {
    const now = sessions.filter(({ status }) => status === "awaiting_approval").map(({ id, head }) => `${id}:${head}`).join();
    if (now === waiting) return;
    const { approvals } = await server.approvals();
    waiting = now;
    store.set({ approvals });
  }

  function refresh(): Promise<void> {
    asking ??= ask().finally(() => { asking = null; });
    return asking;
  }

  function schedule(): void {
    clearTimeout(timer);
    const { chats, approvals } = store.get();
    const isBusy = approvals.length > 0 || chats.some(({ status }) => status !== undefined);
    const pause = document.hidden ? HIDDEN_MS : isBusy ? BUSY_MS : IDLE_MS;
    timer = setTimeout(() => void round(), pause);
  }

  async function round(): Promise<void> {
    await refresh();
    if (ending && !ending.signal.aborted) schedule();
  }

  function watch(): () => void {
    ending?.abort();
    const mine = ending = new AbortController();
    const now = () => { if (!document.hidden) void round(); };
    for (const event of ["visibilitychange", "focus"]) document.addEventListener(event, now, { signal: mine.signal });
    addEventListener("online", now, { signal: mine.signal });
    void round();
    return () => {
      mine.abort();
      clearTimeout(timer);
    };
  }

  async function list(query: api.SessionsQuery, known: ChatList, aborting: { signal?: AbortSignal } = {}): Promise<ChatList> {
    try {
      const page = await server.sessions({ limit: PAGE, ...query, ...(known.next === null ? {} : { before: known.next }) }, aborting);
      const ids = new Set(known.chats.map(({ id }) => id));
      const chats = [...known.chats, ...page.sessions.filter(({ id }) => !ids.has(id))];
      return { chats, next: page.next ?? null, state: "ready", error: null };
    } catch (error) {
      return { ...known, state: "failed", error: error as Error };
    }
  }

  async function more(): Promise<void> {
    const { query, filter, found, archived, shared, isSharedShown } = store.get();
    if (found) {
      const longer = await list(sought(query, filter), found);
      if (store.get().found === found) store.set({ found: longer });
    } else if (archived) {
      const longer = await list({ archived: "true" }, archived);
      if (store.get().archived === archived) store.set({ archived: longer });
    } else if (isSharedShown) {
      const longer = await list({ whose: "others" }, shared);
      if (store.get().shared === shared) store.set({ shared: longer });
    } else {
      const { chats, next, state, error } = store.get();
      const longer = await list({}, { chats, next, state, error });
      if (store.get().next === next) store.set(longer);
    }
  }

  async function search(query: string): Promise<void> {
    searching?.abort(); // what is typed now takes the place of what was looked for
    const { signal } = searching = new AbortController();
    store.set({ query });
    if (query.trim() === "") { store.set({ found: null }); return; }
    const found = await list(sought(query, store.get().filter), EMPTY, { signal });
    if (!signal.aborted) store.set({ found });
  }

  async function look(filter: Filter): Promise<void> {
    store.set({ filter });
    await search(store.get().query);
  }

  async function showArchived(isShown: boolean): Promise<void> {
    if (!isShown) { store.set({ archived: null }); return; }
    store.set({ archived: EMPTY, isSharedShown: false });
    const archived = await list({ archived: "true" }, EMPTY);
    if (store.get().archived) store.set({ archived });
  }

  async function readShared(): Promise<void> {
    try {
      const page = await server.sessions({ limit: PAGE, whose: "others" });
      const { chats, next } = store.get().shared;
      const merged = mergePage(chats, next, page);
      store.set({ shared: { chats: alike(chats, merged.chats), next: merged.next, state: "ready", error: null } });
    } catch (error) {
      const { shared } = store.get();
      if (shared.state !== "ready") store.set({ shared: { ...shared, state: "failed", error: error as Error } });
    }
  }

  function showShared(isSharedShown: boolean): void {
    store.set({ isSharedShown, archived: null });
    if (isSharedShown) void readShared();
  }

  async function showFolder(id: string): Promise<void> {
    const { folders } = store.get();
    const known = folders[id];
    const read = await list({ project_id: id }, EMPTY);
    if (read.state === "failed" && known?.state === "ready") return; // what is shown stays
    store.set({ folders: { ...store.get().folders, [id]: read } });
  }

  async function moreOfFolder(id: string): Promise<void> {
    const known = store.get().folders[id];
    if (!known) return;
    const longer = await list({ project_id: id }, known);
    if (store.get().folders[id] === known) store.set({ folders: { ...store.get().folders, [id]: longer } });
  }

  function see(id: string, head: number): void {
    const { seen } = store.get();
    const next = keepSeen(seen, id, head);
    if (next !== seen) store.set({ seen: next });
  }

  // Puts `edit` of the chat with this id into every list that has it; undefined takes it out.
  function put(id: string, edit: (chat: Chat, where: Where) => Chat | undefined): void {
    const edited = (chats: readonly Chat[], where: Where) => chats.flatMap((chat) => chat.id === id ? edit(chat, where) ?? [] : [chat]);
    const { chats, found, archived, shared, folders } = store.get();
    etag = null; // the list is no longer the one that the server knows by it
    store.set({
      chats: edited(chats, "chats"),
      found: found && { ...found, chats: edited(found.chats, "found") },
      archived: archived && { ...archived, chats: edited(archived.chats, "archived") },
      shared: { ...shared, chats: edited(shared.chats, "shared") },
      folders: Object.fromEntries(Object.entries(folders).map(([folder, list]) => [folder, { ...list, chats: edited(list.chats, "folder") }])),
    });
  }

  async function edit(id: string, given: api.SessionChanges): Promise<void> {
    const changed = await server.connection.ask<Chat>("PATCH", `/api/sessions/${id}`, { body: given });
    put(id, (chat, where) => {
      if (where === "shared" && changed.shared === undefined) return undefined;
      if (where !== "shared" && where !== "found" && changed.archived !== (where === "archived")) return undefined;
      return chat.found === undefined ? changed : { ...changed, found: chat.found }; // what it says no more is over
    });
  }

  // What a change means for lists that the chat was in, or is in now.
  async function lookAgain(given: api.SessionChanges): Promise<void> {
    if (given.archived !== undefined) await refresh();
    const into = given.project_id;
    if (into !== undefined && into !== "" && store.get().folders[into]) await showFolder(into);
  }

  async function change(id: string, given: api.SessionChanges): Promise<void> {
    await edit(id, given);
    await lookAgain(given);
  }

  async function changeEach(ids: readonly string[], given: api.SessionChanges, onCount: (count: number) => void = () => undefined): Promise<Outcome> {
    const outcome = await forEach(ids, (id) => edit(id, given), onCount);
    await lookAgain(given);
    return outcome;
  }

  const removeEach = (ids: readonly string[], onCount: (count: number) => void = () => undefined): Promise<Outcome> => forEach(ids, (id) => remove(id), onCount);

  async function remove(id: string, onGone?: () => void): Promise<void> {
    await server.deleteSession(id);
    onGone?.();
    put(id, () => undefined);
  }

  return { store, watch, refresh, more, search, look, showArchived, readShared, showShared, showFolder, moreOfFolder, see, change, changeEach, removeEach, remove };
}

// The chats of a folder, the last used first: those that were asked for as the newest list has them, and what came since.
export function inFolder({ chats, folders }: Pick<ChatsState, "chats" | "folders">, id: string): readonly Chat[] {
  const newest = new Map(chats.map((chat) => [chat.id, chat]));
  const known = (folders[id]?.chats ?? []).map((chat) => newest.get(chat.id) ?? chat);
  const ids = new Set(known.map((chat) => chat.id));
  const since = chats.filter((chat) => !ids.has(chat.id));
  return [...known, ...since]
    .filter((chat) => chat.project_id === id && !chat.archived)
    .sort((one, other) => other.updated_at - one.updated_at);
}

// The first page as it is now, and what was loaded behind it, the last used first: what is in the page's stretch of time
// and not in the page is gone.
export function mergePage(
  known: readonly Chat[], next: string | null, page: api.SessionPage,
): { readonly chats: readonly Chat[]; readonly next: string | null } {
  const last = page.sessions.at(-1);
  if (page.next === undefined || last === undefined) return { chats: page.sessions, next: null };
  const older = new Map(known.filter((chat) => chat.updated_at < last.updated_at).map((chat) => [chat.id, chat]));
  for (const { id } of page.sessions) older.delete(id);
  const sorted = [...older.values()].sort((one, other) => other.updated_at - one.updated_at);
  return { chats: [...page.sessions, ...sorted], next: sorted.length > 0 ? next : page.next };
}

function sought(query: string, { days, ...filter }: Filter): api.SessionsQuery {
  const since = days === undefined ? {} : { used_after: new Date(midnight()).setDate(new Date(midnight()).getDate() - days + 1) };
  return { q: query.trim(), archived: "all", whose: "all", ...filter, ...since };
}

function midnight(): number {
  return new Date(now()).setHours(0, 0, 0, 0);
}

// `next`, with the very objects of `known` where they say the same: what did not change is not drawn again.
function alike(known: readonly Chat[], next: readonly Chat[]): readonly Chat[] {
  const before = new Map(known.map((chat) => [chat.id, chat]));
  const same = next.map((chat) => {
    const former = before.get(chat.id);
    return former && JSON.stringify(former) === JSON.stringify(chat) ? former : chat;
  });
  return same.length === known.length && same.every((chat, at) => chat === known[at]) ? known : same;
}

export const chats = createChats(client);
