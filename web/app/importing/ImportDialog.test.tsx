import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { beforeEach, expect, test, vi } from "vitest";

import { type Asked, fakeServer, Refusal } from "../fake-server";
import { settings } from "../settings";
import { isForeign, ranges } from "./foreign-chats";
import { ImportDialog } from "./ImportDialog";

const chat = (number: number, title: string, state = "new", more = {}) => ({ kind: "chat", number, state, title, messages: 2, updated_at: 1_700_000_000_000, ...more });
const lines = (...said: object[]) => new Response(said.map((each) => `${JSON.stringify(each)}\n`).join(""));
const FILE = new File(["[]"], "conversations.json");
const CHATS = [chat(1, "Herons"), chat(2, "<img src=x onerror=alert(1)>"), chat(3, "Old", "there"), { kind: "chat", number: 4, state: "refused", reason: "It is damaged, and cannot be read." }, chat(5, "Reeds")];

beforeEach(() => settings.set({ language: "en" }));

function open(answer: (query: URLSearchParams) => unknown): Asked[] {
  const asked = fakeServer({ "POST /api/import/chats": (_: unknown, query: URLSearchParams) => answer(query), "GET /api/sessions": { sessions: [] }, "GET /api/approvals": { approvals: [] } });
  render(<ImportDialog file={FILE} onClose={() => undefined} />);
  return asked;
}

test("what is in the file is chosen from, and what came of it is told", async () => {
  const asked = open((query) => query.has("preview") ? lines(...CHATS, { kind: "end" })
    : lines(chat(1, "Herons", "imported", { left_out: 1 }), chat(5, "Reeds", "refused", { reason: "No room." }), { kind: "end" }));
  const herons = await screen.findByRole<HTMLInputElement>("checkbox", { name: /Herons/ });
  expect(herons.checked).toBe(true);
  expect(screen.getByRole<HTMLInputElement>("checkbox", { name: /Old/ }).disabled).toBe(true);
  expect(document.querySelector("img")).toBeNull();
  expect(screen.getByText("It is damaged, and cannot be read.", { exact: false })).not.toBeNull();
  fireEvent.click(screen.getByRole("checkbox", { name: /img/ }));
  fireEvent.click(screen.getByRole("button", { name: "Import 2 chats" }));
  expect((await screen.findByRole("status")).textContent).toMatch(/imported/);
  await waitFor(() => expect(screen.getByRole("status").textContent).toBe("1 chat was imported. Images and recordings are named in the chats, not imported."));
  expect(new URLSearchParams(asked.filter(({ route }) => route === "POST /api/import/chats").at(-1)?.query).get("only")).toBe("1,5");
  expect(screen.getByText("No room.", { exact: false })).not.toBeNull();
});

test("all are chosen and none", async () => {
  open(() => lines(...CHATS, { kind: "end" }));
  fireEvent.click(await screen.findByRole("button", { name: "Choose none" }));
  expect(screen.getByRole<HTMLButtonElement>("button", { name: "Choose chats first" }).disabled).toBe(true);
  fireEvent.click(screen.getByRole("button", { name: "Choose all" }));
  expect(screen.getByRole("button", { name: "Import 3 chats" })).not.toBeNull();
});

test("a file that is no export, and an answer that breaks off, are told", async () => {
  open(() => new Refusal(400, "bad_import", "It is neither a zip file nor JSON."));
  expect((await screen.findByRole("alert")).textContent).toMatch(/neither/);
  vi.unstubAllGlobals();
  open(() => lines(...CHATS));
  await waitFor(() => expect(screen.getAllByRole("alert")).toHaveLength(2));
});

test("files of others are known by how they begin", async () => {
  const begins = async (text: string) => isForeign(new Blob([text]));
  expect(await Promise.all(["PK\u0003\u0004", "\uFEFF [", '{"title": ""}'].map(begins))).toEqual([true, true, true]);
  expect(await Promise.all(['{"kind":"sessions","v":1}', '{"kind":"session"', "hello", ""].map(begins))).toEqual([false, false, false, false]);
});

test("numbers become ranges", () => {
  expect(ranges([5, 1, 2, 3, 9, 8])).toBe("1-3,5,8-9");
  expect(ranges([])).toBe("");
});
