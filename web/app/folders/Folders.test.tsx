import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";

import { Refusal, fakeServer } from "../fake-server";
import { settings } from "../settings";
import { app, NOTHING } from "../state";
import { type Chat, chats } from "../sidebar/chats";
import { Sidebar } from "../sidebar/Sidebar";
import { notice, showNotice } from "../sidebar/notice";
import { beginWith, firstBody } from "./beginning";
import { folders } from "./folders";

const chat = (id: string, title: string, more: Partial<Chat> = {}): Chat =>
  ({ id, title, created_at: 1, updated_at: Date.now(), head: 4, active_branch: 0, pinned: false, archived: false, ...more });
const folder = (id: string, name: string, more = {}) => ({ id, kind: "project", name, role: "owner", created_by: "me", created_at: 1, ...more });
const ROWS = [chat("a", "Herons", { project_id: "p_1" }), chat("b", "Reeds"), chat("c", "Label only", { project_id: "mine" })];

beforeEach(() => {
  localStorage.clear();
  settings.set({ language: "en" });
  showNotice(null);
  app.set({ ...NOTHING, replay: null });
  folders.set({ folders: [], open: [] });
  chats.store.set({ chats: [], next: null, state: "loading", query: "", found: null, archived: null, folders: {}, approvals: [] });
});

async function open(more: Readonly<Record<string, unknown>> = {}) {
  const asked = fakeServer({
    "GET /api/sessions": { sessions: ROWS }, "GET /api/approvals": { approvals: [] }, "GET /api/invitations": { invitations: [] },
    "GET /api/projects": { projects: [folder("p_1", "Birds"), folder("p_2", "Team", { role: "reader" })] }, ...more,
  });
  render(<Sidebar session={null} page={null} onClose={() => undefined} />);
  await chats.refresh();
  await screen.findByRole("link", { name: /Reeds/ });
  return asked;
}

const row = (title: string) => screen.queryByRole("link", { name: title });
const menuOf = async (name: string, item: string) => {
  fireEvent.click(await screen.findByRole("button", { name: `Actions for the folder ${name}` }));
  fireEvent.click(await screen.findByRole("menuitem", { name: item }));
};

test("a reader without folders sees nothing of them", async () => {
  await open({ "GET /api/projects": { projects: [] } });
  expect(screen.queryByRole("heading", { name: "Folders" })).toBeNull();
  expect(row("Herons")).not.toBeNull();
});

test("a chat in a folder is there, and not in the list of the others", async () => {
  await open();
  const birds = await screen.findByRole("button", { name: "Birds" });
  expect(row("Herons")).toBeNull();
  expect(row("Label only")).not.toBeNull();
  fireEvent.click(birds);
  await waitFor(() => expect(within(birds.closest("li") as HTMLElement).getByRole("link", { name: "Herons" })).not.toBeNull());
  expect(birds.getAttribute("aria-expanded")).toBe("true");
});

test("a chat is dropped on a folder, and a refusal is told", async () => {
  const asked = await open({ "PATCH /api/sessions/b": { ...ROWS[1], project_id: "p_1" } });
  const birds = (await screen.findByRole("button", { name: "Birds" })).closest("li") as HTMLElement;
  const dataTransfer = { types: ["application/x-gateway-chat"], getData: () => "b" };
  fireEvent.dragOver(birds, { dataTransfer });
  fireEvent.drop(birds, { dataTransfer });
  await waitFor(() => expect(asked.find(({ route }) => route === "PATCH /api/sessions/b")?.body).toEqual({ project_id: "p_1" }));
  await waitFor(() => expect(notice.get().shown?.text).toBe("Moved to Birds"));
  expect(row("Reeds")).toBeNull();
});

test("a folder is renamed, given instructions, and deleted after a question", async () => {
  const asked = await open({
    "PATCH /api/projects/p_1": folder("p_1", "Waders", { instructions: "Be brief." }), "DELETE /api/projects/p_1": new Refusal(409, "legal_hold", "It is held."),
  });
  await menuOf("Birds", "Rename");
  fireEvent.change(await screen.findByLabelText("Name"), { target: { value: "Waders" } });
  fireEvent.click(screen.getByRole("button", { name: "Save" }));
  await menuOf("Waders", "Instructions…");
  expect((await screen.findByRole<HTMLTextAreaElement>("textbox", { name: "Instructions" })).value).toBe("Be brief.");
  fireEvent.click(screen.getByRole("button", { name: "Cancel" }));
  await menuOf("Waders", "Delete the folder");
  fireEvent.click(await screen.findByRole("button", { name: "Delete it" }));
  await waitFor(() => expect(screen.getByRole("alert").textContent).not.toBe(""));
  expect(asked.some(({ route }) => route === "DELETE /api/projects/p_1")).toBe(true);
});

test("a chat that is begun in a folder is made in it, and what is opened instead ends that", async () => {
  await open();
  await menuOf("Birds", "New chat here");
  expect(firstBody()).toEqual({ project_id: "p_1" });
  app.set({ place: { session: "b", turn: null, page: null } });
  expect(firstBody()).toEqual({});
  beginWith({ instructions: "Be brief." });
});
