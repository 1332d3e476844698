import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test, vi } from "vitest";

import { settings } from "../settings";
import { Refusal, fakeServer } from "../fake-server";
import { violations } from "../axe";
import MemoryPage from "./MemoryPage";

const SCRIPTED = "<img src=x onerror=alert(1)>";

beforeEach(() => {
  settings.set({ language: "en" });
  vi.spyOn(URL, "createObjectURL").mockReturnValue("blob:file");
});

const memory = (id: string, more = {}) => ({
  id, type: "fact", content: `Content of ${id}`, summary: `Content of ${id}`, owner_type: "user", owner_id: "local", visibility: "private", status: "active",
  source: "user", importance: 3, confidence: 1, evidence_count: 0, tags: [], pinned: false, quarantined: false, tools: [], decisions: [], refs: [], version: 1,
  created_at: 1, updated_at: 1, last_used: 1, secret: false, ...more,
});
const version = (number: number, operation: string, content: string) =>
  ({ version: number, operation, actor: "local", reason: `reason ${number}`, at: 1, content, summary: content, type: "fact", status: "active", importance: 3, confidence: 1, tags: [] });
const whole = (id: string, more = {}) => ({ ...memory(id, more), versions: [version(1, "remembered", `Content of ${id}`)], evidence: [], links: [] });
const answers = (rows: object[]) => ({
  "GET /api/memory": (_: unknown, query: URLSearchParams) => ({ memories: query.get("quarantined") === "true" ? rows.filter((row) => (row as { quarantined: boolean }).quarantined) : rows }),
  "GET /api/profiles": { profiles: [{ kind: "user", id: "local", fields: { name: "李雷" }, version: 2 }] },
});
const openRow = async (text: string) => {
  const row = (await screen.findByText(text)).closest("details");
  if (!row) throw new Error("no row");
  row.open = true;
  fireEvent(row, new Event("toggle"));
  await within(row).findByText("Versions");
  return within(row);
};

test("a memory is edited only as it was seen; a newer one is shown instead", async () => {
  let current = whole("m", { version: 4, content: SCRIPTED, summary: SCRIPTED });
  const asked = fakeServer({
    ...answers([memory("m", { content: SCRIPTED, summary: SCRIPTED })]),
    "GET /api/memory/m": () => current, "PATCH /api/memory/m": () => new Refusal(412, "memory_changed"),
  });
  render(<MemoryPage />);
  const row = await openRow(SCRIPTED);
  fireEvent.click(row.getByRole("button", { name: "Edit" }));
  fireEvent.change(row.getByLabelText("What to remember"), { target: { value: "Tea" } });
  current = whole("m", { version: 5, summary: "Coffee", content: "Coffee" });
  fireEvent.click(row.getByRole("button", { name: "Save" }));
  await screen.findByText("It was changed in the meantime. Check it first.");
  await screen.findByText("Coffee");
  const patch = asked.find(({ route }) => route === "PATCH /api/memory/m");
  expect(patch?.headers.get("If-Match")).toBe('"4"');
  expect(patch?.body).toEqual({ content: "Tea", importance: 3, type: "fact" });
  expect(document.querySelector(".page img")).toBeNull();
});

test("what waits for a person is told, and confirmed", async () => {
  const waits = memory("g", { quarantined: true });
  const asked = fakeServer({ ...answers([waits]), "GET /api/memory/g": whole("g", { quarantined: true }), "POST /api/memory/g/confirm": memory("g") });
  render(<MemoryPage />);
  await screen.findByText(/One memory waits/);
  const row = await openRow("Content of g");
  fireEvent.click(row.getByRole("button", { name: "Confirm" }));
  await waitFor(() => expect(asked.some(({ route }) => route === "POST /api/memory/g/confirm")).toBe(true));
});

test("to erase is asked for twice, to forget once", async () => {
  const asked = fakeServer({
    ...answers([memory("a"), memory("b")]), "GET /api/memory/a": whole("a"), "GET /api/memory/b": whole("b"),
    "POST /api/memory/a/erase": undefined, "DELETE /api/memory/b": undefined,
  });
  render(<MemoryPage />);
  const row = await openRow("Content of a");
  choose(row, "Erase…");
  press(within(screen.getByRole("dialog")), "Cancel");
  choose(row, "Erase…");
  fireEvent(screen.getByRole("dialog"), new Event("cancel")); // as Escape does
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  choose(row, "Erase…");
  expect(asked.some(({ route }) => route.endsWith("/erase"))).toBe(false);
  fireEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Erase" }));
  await waitFor(() => expect(screen.queryByText("Content of a")).toBeNull());
  fireEvent.click((await openRow("Content of b")).getByRole("button", { name: "Forget" }));
  await waitFor(() => expect(screen.queryByText("Content of b")).toBeNull());
  expect(asked.find(({ route }) => route === "DELETE /api/memory/b")?.headers.get("If-Match")).toBe('"1"');
});

test("what was forgotten is brought back by one press, in the list in which it was", async () => {
  let isThere = true;
  const asked = fakeServer({
    ...answers([]), "GET /api/memory": (_: unknown, query: URLSearchParams) => ({ memories: isThere && !query.has("quarantined") ? [memory("m")] : [] }), "GET /api/memory/m": whole("m"),
    "DELETE /api/memory/m": () => { isThere = false; return undefined; },
    "POST /api/memory/m/restore": () => { isThere = true; return memory("m", { version: 3 }); },
  });
  render(<MemoryPage />);
  press(await openRow("Content of m"), "Forget");
  await screen.findByText(/It can be brought back for 30 days/);
  expect(screen.queryByText("Content of m")).toBeNull();
  expect(await violations()).toEqual([]);
  press(screen, "Undo");
  await screen.findByText("Remembered again.");
  await screen.findByText("Content of m");
  expect(asked.filter(({ route }) => route.startsWith("POST"))).toHaveLength(1);
  expect(screen.queryByRole("button", { name: "Undo" })).toBeNull();
});

test("each thing that can be done with a memory says what becomes of it", async () => {
  fakeServer({ ...answers([memory("m")]), "GET /api/memory/m": whole("m") });
  render(<MemoryPage />);
  press(await openRow("Content of m"), "More");
  const said = screen.getAllByRole("menuitem").map(({ textContent }) => textContent);
  expect(said.map((text) => text.split(" ")[0])).toEqual(["Pin", "Replace…", "Suppress", "Freeze", "Erase…"]);
  expect(said.every((text) => text.endsWith("."))).toBe(true);
  expect(await violations()).toEqual([]);
});

const gone = (id: string) => ({
  id, type: "constraint", content: SCRIPTED, summary: SCRIPTED, version: 2, deleted_at: 1, restorable_until: 2_592_000_001, actor: "model",
  reason: "The model deleted it, after it had read what others wrote (http_fetch).", turn_id: "t_1",
});

test("what was deleted is told with its words, who did it and why, and restored", async () => {
  const asked = fakeServer({
    ...answers([]), "GET /api/memory": (_: unknown, query: URLSearchParams) => query.get("deleted") === "true" ? { memories: [], deleted: [gone("d")] } : { memories: [] },
    "POST /api/memory/d/restore": memory("d"),
  });
  render(<MemoryPage />);
  fireEvent.change(await screen.findByLabelText("Which"), { target: { value: "deleted" } });
  await screen.findByText(SCRIPTED);
  screen.getByText(/by model, can be restored until/);
  screen.getByText(/after it had read what others wrote/);
  expect(await violations()).toEqual([]);
  fireEvent.click(screen.getByRole("button", { name: "Restore", description: SCRIPTED }));
  await screen.findByText("Restored.");
  expect(screen.queryByText(SCRIPTED)).toBeNull();
  expect(asked.find(({ route }) => route === "POST /api/memory/d/restore")).toMatchObject({ body: {} });
  expect(asked.find(({ route }) => route === "POST /api/memory/d/restore")?.headers.get("If-Match")).toBe('"2"');
  expect(document.querySelector(".page img")).toBeNull();
});

test("a memory is made again what it was at a version", async () => {
  const changed = { ...whole("m", { version: 2 }), versions: [version(1, "remembered", "Paris"), version(2, "updated", "Content of m")] };
  const asked = fakeServer({ ...answers([memory("m", { version: 2 })]), "GET /api/memory/m": changed, "POST /api/memory/m/restore": memory("m", { version: 3 }) });
  render(<MemoryPage />);
  const row = await openRow("Content of m");
  expect(row.queryByRole("button", { name: "Restore version 2" })).toBeNull();
  fireEvent.click(row.getByRole("button", { name: "Restore version 1" }));
  await waitFor(() => expect(asked.find(({ route }) => route === "POST /api/memory/m/restore")).toMatchObject({ body: { to_version: 1 } }));
});

test("a profile is written over the version that was shown, and only as facts", async () => {
  const asked = fakeServer({ ...answers([]), "PUT /api/profiles/user/local": (body: unknown) => ({ kind: "user", id: "local", version: 3, ...body as object }) });
  render(<MemoryPage />);
  const box = await screen.findByLabelText<HTMLTextAreaElement>("About you, in every prompt");
  expect(box.value).toBe("name: 李雷");
  fireEvent.change(box, { target: { value: "no fact" } });
  fireEvent.submit(box.form ?? box);
  await screen.findByText("A line for each fact: name: value");
  fireEvent.change(box, { target: { value: "name：韩梅梅" } });
  fireEvent.submit(box.form ?? box);
  await screen.findByText(/^Saved/);
  expect(asked.find(({ route }) => route.startsWith("PUT"))).toMatchObject({ body: { fields: { name: "韩梅梅" } } });
  expect(asked.find(({ route }) => route.startsWith("PUT"))?.headers.get("If-Match")).toBe('"2"');
});

test("it has no barriers, open or closed", async () => {
  fakeServer({ ...answers([memory("m")]), "GET /api/memory/m": whole("m", { tags: ["x"], flagged: "why" }) });
  render(<MemoryPage />);
  await openRow("Content of m");
  fireEvent.click(screen.getByRole("button", { name: "Remember something" }));
  expect(await violations()).toEqual([]);
});

// A server that remembers, by the rules that the page relies on: each change is a version.
function remembering(...rows: readonly { readonly id: string; readonly [name: string]: unknown }[]) {
  const known = new Map(rows.map((row) => [row.id, { ...whole(row.id), ...row }]));
  const change = (id: string, operation: string, more: object) => {
    const before = known.get(id);
    if (!before) return new Refusal(404, "memory_not_found");
    const next = { ...before, ...more, version: before.version + 1 };
    known.set(id, { ...next, summary: next.content, versions: [...before.versions, version(next.version, operation, next.content)] });
    return known.get(id);
  };
  const OPERATIONS: Readonly<Record<string, readonly [string, string]>> = { freeze: ["frozen", "frozen"], suppress: ["suppressed", "suppressed"], activate: ["activated", "active"] };
  const correct = ({ memory_id: id, action, new_content: content }: { memory_id: string; action: string; new_content?: string }) => {
    const [operation, status] = OPERATIONS[action] ?? ["replaced", "replaced"];
    const changed = change(id, operation, { status });
    if (content !== undefined) known.set("new", { ...whole("new"), content, summary: content });
    return { memories: [changed] };
  };
  const asked = fakeServer({
    "GET /api/memory": (_: unknown, query: URLSearchParams) => ({
      memories: [...known.values()].reverse().filter(({ content, pinned, quarantined }) =>
        content.includes(query.get("q") ?? "") && (query.has("pinned") ? pinned : true) && (query.has("quarantined") ? quarantined : true)),
    }),
    "GET /api/profiles": { profiles: [] }, "GET /api/memory/export": () => new Response('{"kind":"memory"}\n'), "POST /api/memory/correct": correct,
    ...Object.fromEntries(["new", ...known.keys()].flatMap((id) => [
      [`GET /api/memory/${id}`, () => known.get(id) ?? new Refusal(404, "memory_not_found")],
      [`PATCH /api/memory/${id}`, (body: object) => change(id, "updated", body)],
      [`DELETE /api/memory/${id}`, () => void known.delete(id)],
    ])),
  });
  render(<MemoryPage />);
  return asked;
}

const summaryOf = (text: string) => screen.getByText(text, { selector: ".gist" }).closest("summary");
const choose = (row: Pick<typeof screen, "getByRole">, name: string) => {
  press(row, "More");
  fireEvent.click(screen.getByRole("menuitem", { name: new RegExp(`^${name} `) })); // its line of explanation follows
};
const press = (root: Pick<typeof screen, "getByRole">, name: string) => fireEvent.click(root.getByRole("button", { name }));

test("a memory is changed, pinned and deleted, and each change is a version with who made it", async () => {
  remembering({ id: "m", content: `Likes tea.\n${SCRIPTED}`, summary: "Likes tea." });
  const row = await openRow("Likes tea.");
  expect(document.querySelector(".page .content")?.textContent).toBe(`Likes tea.\n${SCRIPTED}`);
  expect(document.querySelector(".page img")).toBeNull();
  press(row, "Edit");
  fireEvent.change(row.getByLabelText("What to remember"), { target: { value: "喜欢喝咖啡" } });
  fireEvent.change(row.getByLabelText("Importance"), { target: { value: "5" } });
  press(row, "Save");
  await waitFor(() => expect(document.activeElement).toBe(summaryOf("喜欢喝咖啡")));
  choose(row, "Pin");
  await row.findByText("fact · importance 5 · Pinned");
  expect(row.getAllByRole("listitem").map(({ textContent }) => textContent.slice(0, 16))).toEqual(["1: remembered, l", "2: edited, local", "3: edited, local"]);
  press(row, "Forget");
  await screen.findByText("Nothing is remembered yet");
  expect(document.activeElement).toBe(screen.getByRole("searchbox"));
});

test.each([["Freeze", "frozen: not recalled"], ["Suppress", "suppressed"]])("what %s set aside can be used again", async (name, state) => {
  remembering({ id: "m", content: "Works in Oslo", summary: "Works in Oslo" });
  const row = await openRow("Works in Oslo");
  choose(row, name);
  await row.findByText(`fact · importance 3 · ${state}`);
  press(row, "More");
  expect(screen.queryByRole("menuitem", { name: /^Freeze/ })).toBeNull();
  press(row, "More");
  choose(row, "Use again");
  await row.findByText("fact · importance 3");
  expect(row.getAllByRole("listitem").at(-1)?.textContent).toContain("3: active again, local");
});

test("a memory is replaced by what is true instead; to cancel changes nothing", async () => {
  const asked = remembering({ id: "m", content: "Works in Oslo", summary: "Works in Oslo" });
  const row = await openRow("Works in Oslo");
  choose(row, "Replace…");
  press(row, "Cancel");
  expect(asked.some(({ route }) => route.startsWith("POST"))).toBe(false);
  choose(row, "Replace…");
  fireEvent.change(row.getByLabelText("What is true instead"), { target: { value: "Works in Turku" } });
  press(row, "Replace");
  await screen.findByText("Works in Turku");
  await waitFor(() => expect(summaryOf("Works in Oslo")?.textContent).toContain("replaced"));
  expect(document.activeElement).toBe(summaryOf("Works in Oslo"));
  expect(asked.find(({ route }) => route.startsWith("POST"))).toMatchObject({ body: { memory_id: "m", action: "replace", new_content: "Works in Turku" } });
});

test("a version tells its reason, and its text where that is another", async () => {
  const versions = [version(1, "remembered", `Likes tea ${SCRIPTED}`), version(2, "updated", `Likes tea ${SCRIPTED}`), version(3, "updated", "Likes coffee")];
  remembering({ id: "m", content: "Likes coffee", summary: "Likes coffee", version: 3, versions });
  const row = await openRow("Likes coffee");
  const told = row.getAllByRole("listitem");
  expect(told.map((each) => each.querySelector("small")?.textContent)).toEqual(["reason 1", "reason 2", "reason 3"]);
  expect(told.map((each) => each.querySelector(".was")?.textContent)).toEqual([`Likes tea ${SCRIPTED}`, undefined, "Likes coffee"]);
});

test("the list is searched and filtered", async () => {
  remembering({ id: "a", content: "我喜欢简约的设计风格", summary: "我喜欢简约的设计风格" }, { id: "b", content: "Works in Oslo", summary: "Works in Oslo", pinned: true });
  await screen.findByText("Works in Oslo");
  const search = (q: string) => fireEvent.change(screen.getByRole("searchbox", { name: "Search what is remembered" }), { target: { value: q } });
  search("设计");
  await waitFor(() => expect(screen.queryByText("Works in Oslo")).toBeNull());
  search("bicycle");
  await screen.findByText("Nothing found");
  search("");
  fireEvent.change(screen.getByLabelText("Which"), { target: { value: "pinned" } });
  await screen.findByText("Works in Oslo");
  expect(screen.queryByText("我喜欢简约的设计风格")).toBeNull();
});

test("all of it can be taken away as a file", async () => {
  remembering();
  await screen.findByText("Nothing is remembered yet");
  press(screen, "Export");
  await screen.findByText("The file is in your downloads.");
});

test("what is told while the list is fetched stays", async () => {
  let come: (page: object) => void = () => undefined;
  const page = new Promise((resolve) => { come = resolve; });
  fakeServer({ "GET /api/memory": (_: unknown, query: URLSearchParams) => query.has("quarantined") ? { memories: [] } : page, "GET /api/profiles": { profiles: [{ kind: "user", id: "local", fields: {}, version: 0 }] } });
  render(<MemoryPage />);
  const box = await screen.findByLabelText<HTMLTextAreaElement>("About you, in every prompt");
  fireEvent.change(box, { target: { value: "no fact" } });
  fireEvent.submit(box.form ?? box);
  await screen.findByText("A line for each fact: name: value");
  come({ memories: [] });
  await screen.findByText("Nothing is remembered yet");
  screen.getByText("A line for each fact: name: value");
});

test("a profile that was written elsewhere meanwhile is shown, not written over", async () => {
  let fields = { name: "李雷" };
  fakeServer({
    ...answers([]), "GET /api/profiles": () => ({ profiles: [{ kind: "user", id: "local", fields, version: fields.name.length }] }),
    "PUT /api/profiles/user/local": () => {
      fields = { name: "韩梅梅" };
      return new Refusal(412, "memory_changed");
    },
  });
  render(<MemoryPage />);
  const box = await screen.findByLabelText<HTMLTextAreaElement>("About you, in every prompt");
  fireEvent.change(box, { target: { value: "name: somebody" } });
  fireEvent.submit(box.form ?? box);
  await waitFor(() => expect(screen.getByLabelText<HTMLTextAreaElement>("About you, in every prompt").value).toBe("name: 韩梅梅"));
  screen.getByText("It was changed in the meantime. Check it first.");
});
