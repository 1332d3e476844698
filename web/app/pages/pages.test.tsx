import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, test, vi } from "vitest";

import type { api } from "@chat-gateway/client";

import { settings } from "../settings";
import { chats } from "../sidebar/chats";
import { Refusal, fakeServer } from "../fake-server";
import { violations } from "../axe";
import ArtifactsPage from "./ArtifactsPage";
import InboxPage from "./InboxPage";
import { caller } from "../caller";
import PromptsPage from "./PromptsPage";
import SkillsPage from "./SkillsPage";

const SCRIPTED = "<img src=x onerror=alert(1)>";

beforeEach(() => {
  settings.set({ language: "en" });
  chats.store.set({ chats: [], state: "loading", approvals: [] });
});

const ADA: api.Caller = {
  user_id: "ada",
  tenant: "default",
  roles: ["member"],
  scopes: ["chat", "read"],
  has_key: true, signed_in: false,
  is_admin: false,
  is_operator: false, public_links: false,
  models: ["m"],
};

describe("skills", () => {
  beforeEach(() => caller.set({ me: { ...ADA, is_operator: true } }));
  const skill = (name: string, more = {}) => ({ name, type: "function", description: `Does ${name}`, location: "x.py", source: "built-in", enabled: true, metadata: {}, ...more });
  const parameters = { type: "object", properties: { plant: { type: "string", description: "Which one" }, litres: { type: "integer" } }, required: ["plant"] };

  test("who is not the operator sees what is on, and has no switch that would be refused", async () => {
    caller.set({ me: { ...ADA, is_admin: true } });
    fakeServer({ "GET /api/skills": { skills: [skill("water")], warnings: [] } });
    render(<SkillsPage />);
    const water = await screen.findByRole("switch", { name: "Offer water to the model" });
    expect(water).toHaveProperty("disabled", true);
    expect(screen.queryByRole("button", { name: "Refresh" })).toBeNull();
  });

  test("a switch holds, and one that is refused stays as it was with the reason", async () => {
    fakeServer({
      "GET /api/skills": { skills: [skill("water"), skill("read_skill")], warnings: ["broken: no name"] },
      "PATCH /api/skills/water": skill("water", { enabled: false }), "PATCH /api/skills/read_skill": new Refusal(409, "conflict"),
    });
    render(<SkillsPage />);
    const water = await screen.findByRole("switch", { name: "Offer water to the model" });
    fireEvent.click(water);
    await waitFor(() => expect(water.getAttribute("aria-checked")).toBe("false"));
    fireEvent.click(screen.getByRole("switch", { name: "Offer read_skill to the model" }));
    await screen.findByText("This one cannot be switched off.");
    expect(screen.getByRole("switch", { name: "Offer read_skill to the model" }).getAttribute("aria-checked")).toBe("true");
    screen.getByText("broken: no name");
    expect(await violations()).toEqual([]);
  });

  test("each says its kind, where it is from and what it says of itself, which is text; to refresh finds what is new and what is broken", async () => {
    const roses = skill("tend-roses", { type: "markdown", source: "project", description: `Tends roses. 照料玫瑰。${SCRIPTED}` });
    fakeServer({
      "GET /api/skills": { skills: [skill("water"), roses], warnings: [] },
      "POST /api/skills/refresh": { skills: [skill("water"), roses, skill("prune-hedges", { type: "markdown" })], warnings: ["broken: no description"] },
    });
    render(<SkillsPage />);
    const card = (await screen.findByRole("switch", { name: "Offer tend-roses to the model" })).closest("li");
    expect(card?.textContent).toContain("written · project");
    expect(card?.textContent).toContain(`Tends roses. 照料玫瑰。${SCRIPTED}`);
    expect(document.querySelector(".page img")).toBeNull();
    expect(screen.getByRole("switch", { name: /water/ }).closest("li")?.textContent).toContain("function · built-in");
    fireEvent.click(screen.getByRole("button", { name: "Refresh" }));
    await screen.findByRole("switch", { name: "Offer prune-hedges to the model" });
    screen.getByText("broken: no description");
  });

  test("the list can be one kind, or what fits some letters", async () => {
    fakeServer({ "GET /api/skills": { skills: [skill("water"), skill("roses", { type: "markdown" })], warnings: [] } });
    render(<SkillsPage />);
    await screen.findByRole("switch", { name: /water/ });
    fireEvent.change(screen.getByLabelText("Kind"), { target: { value: "markdown" } });
    expect(screen.queryByRole("switch", { name: /water/ })).toBeNull();
    fireEvent.change(screen.getByLabelText("Kind"), { target: { value: "mcp" } });
    screen.getByText("There are none");
    fireEvent.change(screen.getByRole("searchbox"), { target: { value: "zzz" } });
    screen.getByText("Nothing found");
  });

  test("a try-out begins with arguments that fit, asks for the tool in a new chat, and shows its steps", async () => {
    const event = (seq: number, type: string, data: object, more = {}) => `id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify({ v: 1, seq, type, ts: seq, session_id: "s", turn_id: "t", ...more, data })}\n\n`;
    const call = { iteration: 1, tool_call_id: "c" };
    const stream = [
      event(1, "turn_start", { input: "x", model: "demo" }), event(2, "iteration_start", { attempt: 1, model: "demo" }, { iteration: 1 }),
      event(3, "tool_call", { name: "water", arguments: { plant: "rose" }, effect: "effectful" }, call),
      event(4, "tool_result", { name: "water", status: "ok", content: "watered", duration_ms: 5, steps: [{ step_id: "1", step_name: "open the valve", duration_ms: 3 }] }, call),
      event(5, "done", { status: "completed", iterations: 1, duration_ms: 9 }),
    ].join("");
    const asked = fakeServer({
      "GET /api/skills": { skills: [skill("water", { metadata: { parameters } })], warnings: [] },
      "POST /api/sessions": { id: "s" }, "POST /api/sessions/s/turns": { turn_id: "t", session_id: "s", status: "accepted", seq: 0 },
      "GET /api/sessions": { sessions: [] },
      "GET /api/sessions/s/events": () => new Response(stream, { headers: { "Content-Type": "text/event-stream" } }),
    });
    render(<SkillsPage />);
    fireEvent.click(await screen.findByRole("button", { name: /Try it/ }));
    const box = screen.getByLabelText<HTMLTextAreaElement>("Arguments (JSON)");
    expect(JSON.parse(box.value)).toEqual({ plant: "" });
    fireEvent.change(box, { target: { value: "[1]" } });
    fireEvent.submit(box.form ?? box);
    screen.getByText("The arguments must be a JSON object: {…}");
    fireEvent.change(box, { target: { value: '{"plant": "rose", "litres": 12345678901234567890}' } });
    fireEvent.submit(box.form ?? box);
    await screen.findByText("open the valve", { exact: false });
    screen.getByText("watered");
    const { message } = asked.find(({ route }) => route === "POST /api/sessions/s/turns")?.body as { message: string };
    expect(message).toContain("12345678901234567890");
  });
});

describe("files", () => {
  const artifact = (ref: string, more = {}) => ({ ref, mime: "text/plain", kind: "text", size: 10, lines: 2, sha256: "x", created_at: 1, expires_at: 2, ...more });
  const page = (...artifacts: object[]) => ({ artifacts, used: 10, quota: 100 });

  test("a CSV is a table, and a text on demand", async () => {
    fakeServer({
      "GET /api/artifacts": page(artifact("ART-1", { name: "people.csv", kind: "csv", mime: "text/csv" })),
      "GET /api/artifacts/ART-1": (_: unknown, query: URLSearchParams) => query.has("lines")
        ? { ref: "ART-1", how: "lines", content: "name;age\nAda;36", first: 1, last: 2, total: 2 } : new Response(`name;age\nAda;36\n${SCRIPTED};1\n`),
    });
    render(<ArtifactsPage />);
    fireEvent.click(await screen.findByRole("button", { name: "Show: people.csv" }));
    await screen.findByRole("columnheader", { name: "age" });
    screen.getByRole("cell", { name: SCRIPTED });
    expect(document.querySelector(".page img")).toBeNull();
    expect(await violations()).toEqual([]);
    fireEvent.click(screen.getByRole("button", { name: "Text" }));
    await screen.findByText("Lines to 2 of 2");
  });

  test("a text comes in parts that join as they were", async () => {
    fakeServer({
      "GET /api/artifacts": page(artifact("ART-1")),
      "GET /api/artifacts/ART-1": (_: unknown, query: URLSearchParams) => query.get("lines") === "2-3"
        ? { ref: "ART-1", how: "lines", content: "b\nc", first: 2, last: 3, total: 3 } : { ref: "ART-1", how: "lines", content: "a", first: 1, last: 1, total: 3, next: "lines=2-3" },
    });
    render(<ArtifactsPage />);
    fireEvent.click(await screen.findByRole("button", { name: "Show: ART-1" }));
    fireEvent.click(await screen.findByRole("button", { name: "Show more" }));
    await screen.findByText("Lines to 3 of 3");
    expect(document.querySelector(".preview pre")?.textContent).toBe("a\nb\nc");
  });

  test("an image is one whatever it says it is, and one that is none says so", async () => {
    const made: string[] = [];
    vi.spyOn(URL, "createObjectURL").mockImplementation((blob) => `blob:${made.push((blob as Blob).type)}`);
    fakeServer({
      "GET /api/artifacts": page(artifact("ART-1", { name: "dot.png", kind: "image", mime: "image/png", lines: undefined })),
      "GET /api/artifacts/ART-1": () => new Response("<script>", { headers: { "Content-Type": "text/html" } }),
    });
    render(<ArtifactsPage />);
    fireEvent.click(await screen.findByRole("button", { name: "Show: dot.png" }));
    const image = await waitFor(() => document.querySelector("img.picture") ?? expect.fail("no picture"));
    expect(new Set(made)).toEqual(new Set(["image/png"]));
    fireEvent.error(image);
    await screen.findByText("This image cannot be shown.");
  });

  test("to delete is asked for, and what is gone already is gone", async () => {
    fakeServer({ "GET /api/artifacts": page(artifact("ART-1", { metadata: { tool: "sample_orders" } })), "DELETE /api/artifacts/ART-1": new Refusal(404, "artifact_not_found") });
    render(<ArtifactsPage />);
    await screen.findByText("10 B of 100 B taken");
    fireEvent.click(screen.getByRole("button", { name: "Delete: sample_orders · ART-1" }));
    fireEvent.click(screen.getByRole("button", { name: "Delete for good: sample_orders · ART-1" }));
    await screen.findByText("No files yet");
  });
});

describe("prompts", () => {
  const part = (name: string, tokens: number, truncated = false) => ({ name, digest: `${name}${tokens}`, tokens, tokens_before: truncated ? 99 : tokens, truncated });
  const prompt = (hash: string, ...parts: object[]) => ({ layers: [{ layer: "SYSTEM", text: "x", components: [], parts }], tools: [], tokens: 30, prefix_hash: hash, warnings: [] });

  test("an edit is tried: sizes, cuts, and what the cache still has", async () => {
    const style = { name: "style", layer: "SYSTEM", file: "style.md", source: "file", text: "Be brief.", digest: "d", tokens: 20, tokens_before: 20, truncated: false, priority: 1, min_tokens: 0, max_tokens: 40, never_cut: false };
    const asked = fakeServer({
      "GET /api/prompts": { components: [style], tokens: 30, prefix_hash: "a", warnings: [] },
      "GET /api/prompts/preview": prompt("a", part("identity", 10), part("style", 20)),
      "POST /api/prompts/preview": prompt("b", part("identity", 10), part("style", 40, true)),
    });
    caller.set({ me: { ...ADA, is_admin: true, is_operator: true } });
    render(<PromptsPage />);
    fireEvent.click(await screen.findByRole("button", { name: "Try an edit of style.md" }));
    const field = screen.getByLabelText("An edit of style.md");
    expect((field as HTMLTextAreaElement).value).toBe("Be brief.");
    fireEvent.change(field, { target: { value: "Be very brief." } });
    fireEvent.click(screen.getByRole("button", { name: "Preview" }));
    const changes = await screen.findByRole("status", { name: "With these edits" });
    expect(within(changes).getByRole("row", { name: /^style/ }).textContent).toBe("style2040 cut from 99");
    expect(changes.textContent).toContain("valid up to style: 40 of 30 tokens");
    expect(asked.find(({ route }) => route === "POST /api/prompts/preview")?.body).toEqual({ edits: { style: "Be very brief." } });
    expect(await violations()).toEqual([]);
    fireEvent.click(screen.getByRole("button", { name: "Discard" }));
    expect(screen.queryByLabelText("An edit of style.md")).toBeNull();
  });

  test("nobody but the operator is offered to try edits", async () => {
    caller.set({ me: { ...ADA, is_admin: true } });
    fakeServer({ "GET /api/prompts": { components: [], tokens: 30, prefix_hash: "a", warnings: [] }, "GET /api/prompts/preview": prompt("a") });
    caller.set({ me: { ...ADA, user_id: "bob" } });
    render(<PromptsPage />);
    await screen.findByRole("table");
    expect(screen.queryByText("Try an edit")).toBeNull();
  });

  const component = { name: "identity", layer: "SYSTEM", file: "identity.md", source: "default", digest: "abcdef0123456789", tokens: 10, tokens_before: 30, truncated: true, priority: 1, min_tokens: 0, max_tokens: 10, never_cut: false };
  const preview = { layers: [{ layer: "SYSTEM", text: `You are. ${SCRIPTED}`, components: ["identity"], parts: [component] }], tools: ["water"], tokens: 10, prefix_hash: "ff", warnings: [] };

  test("components say what was cut, the preview what the model is sent with a message", async () => {
    const asked = fakeServer({
      "GET /api/prompts": { components: [component], tokens: 10, prefix_hash: "ff", warnings: ["no file x.md"] },
      "GET /api/prompts/preview": (_: unknown, query: URLSearchParams) => ({ ...preview, ...query.has("message") ? { retrieved: "You like tea." } : {} }),
    });
    render(<PromptsPage />);
    await screen.findByText("cut from 30");
    await screen.findByText(`You are. ${SCRIPTED}`);
    fireEvent.change(screen.getByLabelText("Your message"), { target: { value: "Tea?" } });
    fireEvent.click(screen.getByRole("button", { name: "Preview" }));
    await screen.findByText("You like tea.");
    expect(asked.at(-1)?.query).toBe("?message=Tea%3F");
    expect(await violations()).toEqual([]);
  });
});

describe("the inbox", () => {
  const approval = { session_id: "c", turn_id: "t", tool_call_id: "x", name: "write_note", arguments: { text: "a\u202eb" }, requested_at: 1, expires_at: 2, reason: "It has effects." };
  const answers = { "GET /api/sessions": { sessions: [] }, "GET /api/grants": { grants: [{ tool: "clock", granted_at: 1 }] }, "GET /api/approvals": { approvals: [] } };

  test("a call is decided where it waits, and leaves the list", async () => {
    const asked = fakeServer({ ...answers, "POST /api/sessions/c/turns/t/approvals/x": {} });
    chats.store.set({ approvals: [approval] });
    render(<InboxPage />);
    expect(screen.getByRole("link").getAttribute("href")).toBe("#s=c");
    expect(await violations()).toEqual([]);
    fireEvent.click(screen.getByRole("button", { name: "Approve" }));
    await waitFor(() => expect(asked.find(({ route }) => route.startsWith("POST"))?.body).toEqual({ decision: "approve", scope: "once" }));
    chats.store.set({ approvals: [] });
    await screen.findByText("Nothing is waiting for you");
  });

  test("what was allowed for longer can be taken back", async () => {
    let grants: object[] = [{ tool: "clock", session_id: "a", granted_at: 1 }, { tool: "clock", session_id: "b", granted_at: 1 }, { tool: "water", granted_at: 1 }];
    fakeServer({ ...answers, "GET /api/grants": () => ({ grants }), "DELETE /api/grants/clock": () => { grants = []; } });
    render(<InboxPage />);
    await screen.findByText("in 2 chats");
    screen.getByText("in every chat");
    fireEvent.click(screen.getByRole("button", { name: "Ask again before clock runs" }));
    await waitFor(() => expect(screen.queryByText("clock")).toBeNull());
  });
});
