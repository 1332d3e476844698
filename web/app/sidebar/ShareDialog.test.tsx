import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";

import { caller } from "../caller";
import { fakeServer, Refusal } from "../fake-server";
import { settings } from "../settings";
import type { Chat } from "./chats";
import { ShareDialog } from "./ShareDialog";

const CHAT: Chat = { id: "s", title: "Herons", created_at: 1, updated_at: 1, head: 4, active_branch: 0, pinned: false, archived: false };
const APOLLO = { id: "p_1", kind: "project", name: "Apollo", role: "owner", created_by: "ada", created_at: 1 };
const MEMBERS = [{ user: "ada", role: "owner", added_by: "ada", added_at: 1 }, { user: "bob", role: "reader", added_by: "ada", added_at: 2 }];
const hidden = { hidden: true }; // jsdom shows no dialog

function open(chat: Partial<Chat> = {}, answers: Readonly<Record<string, unknown>> = {}) {
  const asked = fakeServer({
    "GET /api/projects": { projects: [APOLLO] }, "GET /api/projects/p_1": { ...APOLLO, members: MEMBERS, invited: [] }, "GET /api/sessions": { sessions: [] },
    "PATCH /api/sessions/s": CHAT, ...answers,
  });
  render(<ShareDialog chat={{ ...CHAT, ...chat }} onClose={() => undefined} />);
  return asked;
}

const sent = (asked: ReturnType<typeof open>, route: string) => asked.filter((each) => each.route === route).map(({ body }) => body);
const chooseApollo = async () => {
  await screen.findByRole("option", { name: "Apollo", ...hidden });
  fireEvent.change(screen.getByRole("combobox", { name: "Project", ...hidden }), { target: { value: "p_1" } });
};

const level = (name: RegExp) => screen.getByRole<HTMLInputElement>("radio", { name, ...hidden });

beforeEach(() => {
  localStorage.clear();
  settings.set({ language: "en" });
  caller.set({ me: { user_id: "red/ada", tenant: "red", roles: ["member"], scopes: [], is_admin: false, is_operator: false, has_key: true, signed_in: false, models: [] } as never });
  HTMLDialogElement.prototype.showModal = function (this: HTMLDialogElement) { this.open = true; };
});

test("a chat goes into a project and is shared there, and taken back", async () => {
  const asked = open();
  await chooseApollo();
  expect(level(/Only you/).checked).toBe(true);
  fireEvent.click(level(/Members can read it They/));
  await waitFor(() => expect(sent(asked, "PATCH /api/sessions/s")).toEqual([{ project_id: "p_1", shared: "read" }]));
  await waitFor(() => expect(screen.getByRole("combobox", { name: "Project", ...hidden })).toHaveProperty("disabled", true));
  fireEvent.click(level(/Only you/));
  await waitFor(() => expect(sent(asked, "PATCH /api/sessions/s").at(-1)).toEqual({ project_id: "p_1", shared: "none" }));
});

test("members write in a shared chat where its maker lets them", async () => {
  const asked = open({ shared: "read", project_id: "p_1" });
  await screen.findByRole("radio", { name: /owners and editors can write/, ...hidden });
  fireEvent.click(level(/owners and editors can write/));
  await waitFor(() => expect(sent(asked, "PATCH /api/sessions/s").at(-1)).toEqual({ project_id: "p_1", shared: "write" }));
  await waitFor(() => expect(level(/owners and editors can write/).checked).toBe(true));
  fireEvent.click(level(/Members can read it They/));
  await waitFor(() => expect(sent(asked, "PATCH /api/sessions/s").at(-1)).toEqual({ project_id: "p_1", shared: "read" }));
});

test("an owner adds people, gives them roles and removes them", async () => {
  const route = "/api/projects/p_1/members/";
  const asked = open({}, { [`PUT ${route}eve`]: undefined, [`PUT ${route}bob`]: undefined, [`DELETE ${route}bob`]: undefined });
  await chooseApollo();
  fireEvent.change(await screen.findByRole("textbox", { name: "Invite a user", ...hidden }), { target: { value: "eve" } });
  fireEvent.submit(screen.getByRole("form", { name: "Invite a user", ...hidden }));
  await waitFor(() => expect(sent(asked, `PUT ${route}eve`)).toEqual([{ role: "reader" }]));
  fireEvent.change(await screen.findByRole("combobox", { name: "Role of bob", ...hidden }), { target: { value: "editor" } });
  await waitFor(() => expect(sent(asked, `PUT ${route}bob`)).toEqual([{ role: "editor" }]));
  fireEvent.click(screen.getByRole("button", { name: "Remove bob", ...hidden }));
  await waitFor(() => expect(sent(asked, `DELETE ${route}bob`)).toHaveLength(1));
});

test("a reader sees who is in it and what is shared, changes neither, and may leave", async () => {
  const theirs = { ...CHAT, shared: "read" as const, shared_by: "bob", may: ["read"], project_id: "p_1" };
  open({ shared: "read", shared_by: "bob", may: ["read"], project_id: "p_1" }, {
    "GET /api/projects": { projects: [{ ...APOLLO, role: "reader" }] },
    "GET /api/projects/p_1": { ...APOLLO, role: "reader", members: MEMBERS, invited: [] }, "GET /api/sessions": { sessions: [theirs] },
  });
  await screen.findByText("bob shares this chat. You can read it.");
  expect((await screen.findByRole("link", { name: "Herons", ...hidden })).getAttribute("href")).toBe("#s=s");
  expect(screen.queryByRole("radio", hidden)).toBeNull();
  expect(screen.queryByRole("combobox", hidden)).toBeNull();
  expect(screen.getAllByRole("button", hidden).map((each) => each.getAttribute("aria-label"))).toEqual(["Close", "Leave"]);
});

test("what is refused is told, and stays as it was", async () => {
  open({}, { "PATCH /api/sessions/s": new Refusal(409, "turn_in_progress", "Turn t is not over.") });
  await chooseApollo();
  fireEvent.click(level(/Members can read it They/));
  await waitFor(() => expect(screen.getByRole("alert", hidden).textContent).not.toBe(""));
  expect(level(/Only you/).checked).toBe(true);
});

test("a project is made where the chat goes into it, and deleted only when asked twice", async () => {
  const made = { ...APOLLO, id: "p_2", name: "Zeus" };
  let projects = [APOLLO];
  const asked = open({}, {
    "GET /api/projects": () => ({ projects }), "POST /api/projects": () => { projects = [APOLLO, made]; return made; },
    "GET /api/projects/p_2": { ...made, members: MEMBERS, invited: [] }, "DELETE /api/projects/p_2": () => { projects = [APOLLO]; return undefined; },
  });
  await screen.findByRole("option", { name: "Apollo", ...hidden });
  fireEvent.change(screen.getByRole("combobox", { name: "Project", ...hidden }), { target: { value: "new" } });
  fireEvent.change(screen.getByRole("textbox", { name: "Name of the project", ...hidden }), { target: { value: "Zeus" } });
  fireEvent.submit(screen.getByRole("form", { name: "Name of the project", ...hidden }));
  await waitFor(() => expect(sent(asked, "POST /api/projects")).toEqual([{ name: "Zeus" }]));
  fireEvent.click(await screen.findByRole("button", { name: "Delete the project", ...hidden }));
  expect(sent(asked, "DELETE /api/projects/p_2")).toEqual([]);
  fireEvent.click(screen.getByRole("button", { name: "Delete for good", ...hidden }));
  await waitFor(() => expect(sent(asked, "DELETE /api/projects/p_2")).toHaveLength(1));
  await waitFor(() => expect(screen.queryByRole("button", { name: "Delete the project", ...hidden })).toBeNull());
});
