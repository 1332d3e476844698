import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { beforeEach, expect, test, vi } from "vitest";

import { chats } from "./sidebar/chats";
import { fakeServer, Refusal } from "./fake-server";
import { settings } from "./settings";
import { SettingsDialog } from "./SettingsDialog";
import { app } from "./state";

const FILE = '{"kind":"sessions","format":1}\n{"kind":"session"}\n{"kind":"end"}\n';
const ENDED = '{"kind":"sessions_end","sessions":1,"left_out":[{"session_id":"b","code":"turn_in_progress"}]}\n';

function open(answers: Readonly<Record<string, unknown>> = {}) {
  const asked = fakeServer({ "GET /api/sessions": { sessions: [] }, "GET /api/provider-key": { is_set: false, accepted: false }, ...answers });
  app.set({ settingsOpen: true });
  render(<SettingsDialog />);
  return asked;
}

beforeEach(() => {
  localStorage.clear();
  settings.set({ language: "en", traceAddress: "" });
  chats.store.set({ chats: [], state: "loading" });
  HTMLDialogElement.prototype.showModal = function (this: HTMLDialogElement) { this.open = true; };
});

test("the address of a trace has the id's place in it and is no script", () => {
  open();
  const field = screen.getByRole("textbox", { hidden: true });
  fireEvent.change(field, { target: { value: "javascript:alert('{trace_id}')" } });
  expect(screen.getByRole("alert", { hidden: true }).textContent).toMatch(/^Enter an https/);
  expect(settings.get().traceAddress).toBe("");
  fireEvent.change(field, { target: { value: "https://traces.example/t/{trace_id}" } });
  expect(settings.get().traceAddress).toBe("https://traces.example/t/{trace_id}");
});

test("all chats go into one file, and it says how many are not in it", async () => {
  open({ "GET /api/export": new Response(FILE + ENDED) });
  const save = vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(() => undefined);
  URL.createObjectURL = () => "blob:x";
  fireEvent.click(screen.getByRole("button", { name: "Export all", hidden: true }));
  await screen.findByText("Exported without 1 still being answered.");
  expect(save).toHaveBeenCalledOnce();
});

test("a file with all chats comes back, and the first reason why one was refused is told", async () => {
  const reasons = [{ number: 2, code: "conflict", message: "The session id b is taken." }];
  const asked = open({ "POST /api/import": { imported: 1, refused: 1, reasons } });
  const file = new File([FILE + ENDED], "chats.jsonl");
  fireEvent.change(screen.getByLabelText("Import…", { selector: "input" }), { target: { files: [file] } });
  await waitFor(() => expect(asked.some(({ route }) => route === "POST /api/import")).toBe(true));
  await screen.findByText("1 chat imported. 1 not imported: The session id b is taken.");
});

test("everything about the reader is downloaded under the name that the server gives it", async () => {
  const headers = { "Content-Type": "application/zip", "Content-Disposition": 'attachment; filename="ada.zip"' };
  open({ "GET /api/me/export": new Response("PK", { headers }) });
  const names: string[] = [];
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) { names.push(this.download); });
  URL.createObjectURL = () => "blob:x";
  fireEvent.click(screen.getByRole("button", { name: "Download", hidden: true }));
  await screen.findByText(/^Downloaded\./);
  expect(names).toEqual(["ada.zip"]);
});

test("a download that is refused says why", async () => {
  open({ "GET /api/me/export": new Refusal(503, "draining") });
  const save = vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(() => undefined);
  save.mockClear();
  fireEvent.click(screen.getByRole("button", { name: "Download", hidden: true }));
  await screen.findByText("The server is restarting. Please try again in a moment.");
  expect(save).not.toHaveBeenCalled();
});

test("a file of another product is asked about in a dialog of its own", async () => {
  open({ "POST /api/import/chats": () => new Response('{"kind":"chat","number":1,"state":"new","title":"Herons","messages":2}\n{"kind":"end"}\n') });
  const [choose] = screen.getAllByLabelText("Import…", { selector: "input" });
  fireEvent.change(choose ?? document.body, { target: { files: [new File(["[]"], "conversations.json")] } });
  await screen.findByText("Herons");
});
