import { emptyConversation, type Event, reduceAll } from "@chat-gateway/client";
import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test, vi } from "vitest";

import { app, NOTHING } from "../state";
import { settings } from "../settings";
import { type Chat, chats } from "./chats";
import { Commands } from "./Commands";
import { commands } from "./commands";
import { showNotice } from "./notice";
import { Refusal, fakeServer } from "../fake-server";
import { Sidebar } from "./Sidebar";

const chat = (id: string, title: string, more: Partial<Chat> = {}): Chat =>
  ({ id, title, created_at: 1, updated_at: Date.now(), head: 4, active_branch: 0, pinned: false, archived: false, ...more });
const ROWS = [chat("a", "Herons"), chat("b", "Reeds", { status: "running" }), chat("c", "Door code", { status: "awaiting_approval" })];
const waiting = { session_id: "c", turn_id: "t", tool_call_id: "x", name: "write_note", arguments: {}, requested_at: 1, expires_at: 2 };

const answers = { "GET /api/sessions": { sessions: ROWS }, "GET /api/approvals": { approvals: [waiting] } };
const shown = () => screen.getAllByRole("link").flatMap((link) => link.closest("[data-chat]") ? [link.textContent] : []);

beforeEach(() => {
  localStorage.clear();
  settings.set({ language: "en" });
  commands.set({ open: null, singleKeys: true });
  showNotice(null);
  app.set({ ...NOTHING, replay: null });
  chats.store.set({ chats: [], next: null, state: "loading", query: "", found: null, archived: null, approvals: [], seen: { since: 0, heads: { a: 4 } } });
  vi.stubGlobal("IntersectionObserver", class {
    constructor(private readonly tell: (entries: unknown[]) => void) {}
    observe() { this.tell([{ isIntersecting: true }]); }
    disconnect() { /* nothing is held */ }
  });
});

async function open(more: Readonly<Record<string, unknown>> = {}) {
  const asked = fakeServer({ ...answers, ...more });
  render(<><Sidebar session="a" page={null} onClose={() => undefined} /><Commands /></>);
  await screen.findByRole("link", { name: /Herons/ });
  return asked;
}

test("chats say how they stand, and the inbox how many wait", async () => {
  await open();
  expect(shown()).toEqual(["Herons", "Reedsanswering", "Door codewaits for you"]);
  expect(screen.getByRole("link", { name: "Herons" }).getAttribute("aria-current")).toBe("page");
  await waitFor(() => expect(screen.getByRole("link", { name: /Inbox/ }).textContent).toBe("Inbox1"));
  expect(document.title).toMatch(/^\(1\) /);
});

test("what came while the reader was elsewhere is unread until it is opened", async () => {
  await open({ "GET /api/sessions": { sessions: [ROWS[0], chat("d", "News")] } });
  expect(shown()).toEqual(["Herons", "Newsunread"]);
  chats.see("d", 4);
  await waitFor(() => expect(shown()).toEqual(["Herons", "News"]));
});

test("the chat on the screen is listed as soon as it begins, and as soon as it is over", async () => {
  const begun = { v: 1, seq: 1, type: "turn_start", ts: 1, session_id: "n", turn_id: "t", data: { input: "Hello", model: "m" } } as Event;
  const over = { ...begun, seq: 2, type: "done", data: { status: "completed", iterations: 1, duration_ms: 1 } } as Event;
  let rows = ROWS;
  await open({ "GET /api/sessions": () => ({ sessions: rows }) });
  rows = [chat("n", "Hello", { status: "running" }), ...ROWS];
  const conversation = reduceAll(emptyConversation(), [begun]);
  act(() => app.set({ place: { session: "n", turn: null, page: null }, conversation }));
  await waitFor(() => expect(shown()[0]).toBe("Helloanswering"));
  rows = [chat("n", "Hello"), ...ROWS];
  act(() => app.set({ conversation: reduceAll(conversation, [over]) }));
  await waitFor(() => expect(shown()[0]).toBe("Hello"));
});

test("the chat on the screen waits as soon as its events say so, whatever the list tells", async () => {
  const begun = { v: 1, seq: 1, type: "turn_start", ts: 1, session_id: "a", turn_id: "t", data: { input: "Note it", model: "m" } } as Event;
  const made = { ...begun, seq: 2, type: "tool_call", tool_call_id: "x", data: { name: "write_note", arguments: {}, effect: "effectful" } } as Event;
  const asked = { ...made, seq: 3, type: "approval_request", data: { name: "write_note", arguments: {}, expires_at: 2 } } as Event;
  const rows = [chat("a", "Herons", { status: "running" })];
  await open({ "GET /api/sessions": () => ({ sessions: rows }) });
  const conversation = reduceAll(emptyConversation(), [begun, made]);
  act(() => app.set({ place: { session: "a", turn: null, page: null }, conversation, state: "ready" }));
  expect(shown()).toEqual(["Heronsanswering"]);
  act(() => app.set({ conversation: reduceAll(conversation, [asked]) }));
  expect(shown()).toEqual(["Heronswaits for you"]);
});

test("a list that does not tell of the chat on the screen yet is asked for again", async () => {
  const begun = { v: 1, seq: 1, type: "turn_start", ts: 1, session_id: "a", turn_id: "t", data: { input: "Note it", model: "m" } } as Event;
  let count = 0;
  await open({ "GET /api/sessions": () => ({ sessions: [chat("a", "Herons", (count += 1) > 3 ? { status: "running" } : {})] }) });
  act(() => app.set({ place: { session: "a", turn: null, page: null }, conversation: reduceAll(emptyConversation(), [begun]), state: "ready" }));
  await waitFor(() => expect(chats.store.get().chats[0]?.status).toBe("running"));
});

test("what was done is told for a while, a failure until it is closed", async () => {
  await open();
  vi.useFakeTimers();
  act(() => showNotice({ text: "Chat exported." }));
  expect(screen.getByText("Chat exported.")).toBeTruthy();
  act(() => { vi.advanceTimersByTime(10_000); });
  expect(screen.queryByText("Chat exported.")).toBeNull();
  act(() => showNotice({ text: "No room.", isTrouble: true }));
  act(() => { vi.advanceTimersByTime(60_000); });
  expect(screen.getByText("No room.")).toBeTruthy();
  vi.useRealTimers();
});

test("a search shows where the words stand, and leads there", async () => {
  const found = { turn_id: "t", text: [{ text: "What stands in the ", hit: false }, { text: "reeds", hit: true }, { text: "?", hit: false }] };
  await open({
    "GET /api/sessions": (_: unknown, query: URLSearchParams) => ({ sessions: query.get("q") === "reeds" ? [{ ...ROWS[0], found }] : ROWS }),
  });
  fireEvent.change(screen.getByRole("searchbox"), { target: { value: "reeds" } });
  await screen.findByText("1 chat found");
  await waitFor(() => expect(document.querySelector(".chat-snippet")?.textContent).toBe("What stands in the reeds?"));
  expect(document.querySelector(".chat-snippet mark")?.textContent).toBe("reeds");
  expect(document.querySelector("[data-chat=a] a")?.getAttribute("href")).toBe("#s=a&t=t");
  fireEvent.keyDown(screen.getByRole("searchbox"), { key: "Escape" });
  await waitFor(() => expect(shown()).toHaveLength(3));
});

test("a title is text, whatever it says", async () => {
  await open({ "GET /api/sessions": { sessions: [ROWS[0], chat("x", "<img src=x onerror=alert(1)>")] } });
  expect(shown()[1]).toContain("<img src=x");
  expect(document.querySelector(".chats-list img")).toBeNull();
});

test("arrow keys go through the list, F2 renames", async () => {
  const asked = await open({ "PATCH /api/sessions/b": chat("b", "Rushes") });
  const first = screen.getByRole("link", { name: "Herons" });
  first.focus();
  fireEvent.keyDown(first, { key: "ArrowDown" });
  expect(document.activeElement?.textContent).toContain("Reeds");
  fireEvent.keyDown(document.activeElement ?? first, { key: "F2" });
  fireEvent.change(screen.getByLabelText("Title"), { target: { value: " Rushes " } });
  fireEvent.submit(screen.getByLabelText("Title").closest("form") ?? first);
  await screen.findByRole("link", { name: /Rushes/ });
  expect(asked.find(({ route }) => route === "PATCH /api/sessions/b")?.body).toEqual({ title: "Rushes" });
});

test("to delete is asked for, and a refusal is told", async () => {
  let isBusy = true;
  await open({ "DELETE /api/sessions/b": () => isBusy ? new Refusal(409, "turn_in_progress") : undefined });
  fireEvent.click(screen.getByRole("button", { name: "Actions for Reeds" }));
  fireEvent.click(screen.getByRole("menuitem", { name: /Delete/ }));
  fireEvent.click(screen.getByRole("button", { name: "Delete it" }));
  await screen.findByText(/An answer is still in progress/);
  expect(shown()).toHaveLength(3);
  isBusy = false;
  fireEvent.click(screen.getByRole("button", { name: "Delete it" }));
  await waitFor(() => expect(shown()).toHaveLength(2));
});

test("what was put away can be brought back", async () => {
  const asked = await open({ "PATCH /api/sessions/a": (body: unknown) => chat("a", "Herons", body as Partial<Chat>) });
  fireEvent.click(screen.getByRole("button", { name: "Actions for Herons" }));
  fireEvent.click(screen.getByRole("menuitem", { name: "Archive" }));
  fireEvent.click(await screen.findByRole("button", { name: "Undo" }));
  await waitFor(() => expect(asked.filter(({ route }) => route === "PATCH /api/sessions/a").map(({ body }) => body))
    .toEqual([{ archived: true }, { archived: false }]));
});

test("a chat is brought back from its file, and what cannot be says why", async () => {
  let answer: unknown = { id: "h", title: "Heron" };
  await open({ "POST /api/sessions/import": () => answer });
  const give = () => fireEvent.change(document.getElementById("import-chat") ?? document.body, { target: { files: [new File(['{"kind":"session"}'], "chat.jsonl")] } });
  give();
  await screen.findByText("Imported: Heron");
  expect(app.get().place.session).toBe("h");
  answer = new Refusal(409, "conflict");
  give();
  await screen.findByText("This chat is here already.");
  answer = new Refusal(400, "bad_import", "Line 1 is no JSON.");
  give();
  await screen.findByText("This file is not a valid export. Line 1 is no JSON.");
});

test("a search that finds nothing says so", async () => {
  await open({ "GET /api/sessions": (_: unknown, query: URLSearchParams) => ({ sessions: query.has("q") ? [] : ROWS }) });
  fireEvent.change(screen.getByRole("searchbox"), { target: { value: "no such word" } });
  await screen.findByText("Nothing found");
});

test("a menu is used with the keyboard, and gives the focus back", async () => {
  await open();
  const button = screen.getByRole("button", { name: "Actions for Herons" });
  fireEvent.keyDown(button, { key: "ArrowDown" });
  const menu = screen.getByRole("menu");
  expect(document.activeElement).toBe(within(menu).getAllByRole("menuitem")[0]);
  fireEvent.keyDown(menu, { key: "ArrowUp" });
  expect(document.activeElement?.textContent).toContain("Delete");
  fireEvent.keyDown(menu, { key: "Escape" });
  expect(screen.queryByRole("menu")).toBeNull();
  expect(document.activeElement).toBe(button);
});

test("the palette finds a chat by a few letters, and goes there", async () => {
  await open();
  fireEvent.keyDown(document.body, { key: "k", ctrlKey: true });
  const box = screen.getByRole("combobox");
  fireEvent.change(box, { target: { value: "drcd" } });
  expect(screen.getAllByRole("option")[0]?.textContent).toContain("Door code");
  expect(box.getAttribute("aria-activedescendant")).toBe(screen.getAllByRole("option")[0]?.id);
  fireEvent.keyDown(box, { key: "Enter" });
  expect(app.get().place.session).toBe("c");
  expect(screen.queryByRole("combobox")).toBeNull();
});

test("a question mark lists the keys, and keys without a modifier can be switched off", async () => {
  await open();
  fireEvent.keyDown(document.body, { key: "?", shiftKey: true });
  fireEvent.click(screen.getByRole("checkbox"));
  fireEvent.click(screen.getByRole("button", { name: "Close" }));
  fireEvent.keyDown(document.body, { key: "?", shiftKey: true });
  expect(screen.queryByRole("checkbox")).toBeNull();
});
