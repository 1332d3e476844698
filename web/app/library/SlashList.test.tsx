import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { useRef, useState } from "react";
import { beforeEach, expect, test } from "vitest";

import { type Asked, fakeServer, Refusal } from "../fake-server";
import { settings } from "../settings";
import { library } from "./library";
import { fieldsOf, filled, savedPrompts } from "./saved-prompts";
import { serverPrompts } from "./server-prompts";
import { Library, Slash } from "./Slash";

const prompt = (name: string, text: string, more = {}) => ({ id: `sp_${name}`, kind: "prompt", name, text, for_all: false, created_by: "me", created_at: 1, updated_at: 1, ...more });
const PROMPTS = [prompt("standup", "What did {{who}} do on {{ day }}, {{who}}?", { title: "Daily report" }), prompt("周报", "写周报"), prompt("hi", "<img src=x onerror=alert(1)>")];

function Field({ onEnter }: { readonly onEnter: () => void }) {
  const [text, setText] = useState("");
  const box = useRef<HTMLTextAreaElement>(null);
  return (
    <form onSubmit={onEnter}>
      <Slash text={text} box={box} onWrite={setText} />
      <textarea ref={box} aria-label="Message" value={text} onChange={({ target }) => setText(target.value)} onKeyDown={(event) => event.key === "Enter" && onEnter()} />
    </form>
  );
}

const WEEKLY = { name: "weekly", title: "周报", description: "The report of a week.", arguments: [{ name: "topic", description: "About what", required: true }, { name: "tone", required: false }] };
const OFFERED = { servers: [{ server: "desk", prompts: [WEEKLY, { name: "hello", arguments: [] }] }, { server: "gone", prompts: [], error: "It cannot be asked." }] };

let sent = 0;
let asked: readonly Asked[] = [];

beforeEach(() => {
  settings.set({ language: "en" });
  savedPrompts.set({ all: null });
  serverPrompts.set({ servers: null, all: [] });
  library.set({ isOpen: false });
  sent = 0;
  serve({});
  render(<><Field onEnter={() => { sent += 1; }} /><Library /></>);
});

function serve(more: Readonly<Record<string, unknown>>) {
  asked = fakeServer({
    "GET /api/saved-prompts": { saved_prompts: [...PROMPTS, prompt("P", "x", { kind: "persona" })] },
    "GET /api/mcp/prompts": { servers: [] },
    "GET /api/projects": { projects: [] },
    ...more,
  });
}

const field = () => screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Message" });
const type = (text: string) => fireEvent.change(field(), { target: { value: text } });
const options = async () => (await screen.findAllByRole("option")).map(({ textContent }) => textContent);
const press = (key: string, more = {}) => fireEvent.keyDown(field(), { key, ...more });

test("a slash lists the prompts, and letters find them by name and by what they are for", async () => {
  type("/");
  expect(await options()).toEqual(["/standupDaily report", "/周报写周报", "/hi<img src=x onerror=alert(1)>", "Saved prompts…"]);
  expect(document.querySelector("img")).toBeNull();
  type("/周");
  expect(await options()).toEqual(["/周报写周报", "Saved prompts…"]);
  type("/daily");
  expect(await options()).toEqual(["/standupDaily report", "Saved prompts…"]);
  type("/nothing-like-it");
  expect(screen.queryByRole("listbox")).toBeNull();
  type("/standup now");
  expect(screen.queryByRole("listbox")).toBeNull();
});

test("keys choose and take without sending; an input method keeps its Enter, Escape closes", async () => {
  type("/");
  await options();
  press("ArrowDown");
  expect(field().getAttribute("aria-activedescendant")).toBe(screen.getByRole("option", { selected: true }).id);
  press("Enter", { keyCode: 229 });
  expect(field().value).toBe("/");
  sent = 0;
  press("Enter");
  expect([field().value, sent]).toEqual(["写周报", 0]);
  type("/h");
  await options();
  press("Escape");
  expect(screen.queryByRole("listbox")).toBeNull();
  press("Enter");
  expect(sent).toBe(1);
});

test("fields are filled in, and what is filled in stays as it was written", async () => {
  type("/st");
  await options();
  press("Tab");
  fireEvent.change(await screen.findByLabelText("who"), { target: { value: "{{day}} $& <b>" } });
  fireEvent.change(screen.getByLabelText("day"), { target: { value: "Monday" } });
  fireEvent.click(screen.getByRole("button", { name: "Insert" }));
  await waitFor(() => expect(field().value).toBe("What did {{day}} $& <b> do on Monday, {{day}} $& <b>?"));
  expect(sent).toBe(0);
});

test("prompts of MCP servers stand behind the saved ones; their text is fetched when one is chosen", async () => {
  serve({ "GET /api/mcp/prompts": OFFERED, "POST /api/mcp/prompts": { text: "Write about tea." } });
  type("/desk");
  expect(await options()).toEqual(["/hellodesk", "/weeklydesk · 周报", "Saved prompts…"]);
  press("ArrowDown");
  press("Enter");
  fireEvent.change(await screen.findByLabelText(/^topic/), { target: { value: "tea" } });
  expect(screen.getByText("The report of a week.")).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "Insert" }));
  await waitFor(() => expect(field().value).toBe("Write about tea."));
  expect(asked.find(({ route }) => route === "POST /api/mcp/prompts")?.body).toEqual({ server: "desk", name: "weekly", arguments: { topic: "tea" } });
  expect(sent).toBe(0);
});

test("one that asks for nothing is fetched at once, and a failure is said where it was asked for", async () => {
  const answers: unknown[] = [new Refusal(502, "mcp_prompt_failed", "It is away."), { text: "你好" }];
  serve({ "GET /api/mcp/prompts": OFFERED, "POST /api/mcp/prompts": () => answers.shift() });
  type("/hello");
  await options();
  press("Enter");
  expect((await screen.findByText("It is away.")).getAttribute("role")).toBe("alert");
  expect(field().value).toBe("/hello");
  fireEvent.click(screen.getByRole("button", { name: "Insert" }));
  await waitFor(() => expect(field().value).toBe("你好"));
});

test("the dialog has them by server, to be looked at alone, and says of which nothing is known", async () => {
  serve({ "GET /api/mcp/prompts": OFFERED });
  act(() => library.set({ isOpen: true }));
  const group = within(await screen.findByRole("region", { name: "From MCP servers" }));
  expect(group.getAllByRole("heading", { level: 4 }).map(({ textContent }) => textContent)).toEqual(["desk", "gone"]);
  expect(group.getAllByRole("listitem").map(({ textContent }) => textContent)).toEqual(["/weekly周报 · The report of a week.", "/hello"]);
  expect(group.getByText("It cannot be asked.")).toBeTruthy();
  expect(group.queryAllByRole("button")).toEqual([]);
});

test("the way to all of them is the last of the list", async () => {
  type("/");
  await options();
  press("ArrowUp");
  act(() => void press("Enter"));
  expect([library.get().isOpen, field().value]).toEqual([true, ""]);
});

test("fields are words in double braces", () => {
  expect(fieldsOf("{{a}} {{ b c }} {{a}} {{}} {{ }} {x} {{<b>}} {{主题}}")).toEqual(["a", "b c", "主题"]);
  expect(filled("{{a}} {{b}}", { a: "1" })).toBe("1 {{b}}");
});
