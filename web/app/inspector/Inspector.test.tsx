import { type api, emptyConversation, type Event, reduceAll } from "@chat-gateway/client";
import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import axe from "axe-core";
import { beforeEach, describe, expect, it, vi } from "vitest";

import { settings } from "../settings";
import { app, client, NOTHING } from "../state";
import { Inspector } from "./Inspector";
import { recorder, wholeTurn } from "./recorded";

function show(events: readonly Event[]): void {
  app.set({ conversation: reduceAll(emptyConversation(), events), events, state: "ready" });
}

const open = () => render(<Inspector session="s_1" onClose={() => undefined} />);
const give = (container: HTMLElement, file: File) => {
  const input = container.querySelector("input[type=file]");
  if (input) fireEvent.change(input, { target: { files: [file] } });
};
const recorded = () => new File([wholeTurn("t_9").map((event) => `${JSON.stringify(event)}\n`).join("")], "chat.jsonl");
const choose = (name: string) => fireEvent.click(screen.getByRole("tab", { name }));

beforeEach(() => {
  settings.set({ language: "en" });
  localStorage.clear();
  vi.spyOn(client, "usage").mockReturnValue(new Promise(() => undefined));
  vi.spyOn(client, "sentPrompt").mockReturnValue(new Promise(() => undefined));
  app.set({ ...NOTHING, replay: null, place: { session: "s_1", turn: null, page: null } });
  show(wholeTurn());
});

describe("the inspector", () => {
  it("has no findings of axe in any of its tabs", async () => {
    const { container } = open();
    for (const name of ["Timeline", "Prompt", "Usage", "Events", "Replay"]) {
      choose(name);
      for (const button of within(container).queryAllByRole("button", { expanded: false })) fireEvent.click(button);
      const { violations } = await axe.run(container, { rules: { "color-contrast": { enabled: false }, region: { enabled: false } } });
      expect(violations.map(({ id, nodes }) => [name, id, nodes.map(({ html }) => html)])).toEqual([]);
    }
  });

  it("goes from tab to tab by arrow keys", () => {
    open();
    const tab = (name: string) => screen.getByRole("tab", { name });
    fireEvent.keyDown(tab("Timeline"), { key: "ArrowRight" });
    expect(tab("Prompt").getAttribute("aria-selected")).toBe("true");
    expect(document.activeElement).toBe(tab("Prompt"));
    fireEvent.keyDown(tab("Prompt"), { key: "End" });
    expect(document.activeElement).toBe(tab("Replay"));
    fireEvent.keyDown(tab("Replay"), { key: "ArrowRight" });
    expect(document.activeElement).toBe(tab("Timeline"));
  });

  it("looks at the newest turn until another one is chosen", () => {
    const both = [...wholeTurn(), recorder("t_2", 19)("turn_start", 5000, { input: "And 3+3?", model: "m", trace_id: "cd".repeat(16) })];
    show(both);
    open();
    expect(screen.getByText("cd".repeat(16))).toBeTruthy();
    fireEvent.change(screen.getByRole("combobox", { name: "Turn" }), { target: { value: "t_1" } });
    expect(screen.getByText("ab".repeat(16))).toBeTruthy();
  });

  it("takes what happened beside the turns for none of them", () => {
    const title = recorder("c_1", 19)("title", 5000, { title: "Sums", model: "m", source: "model" });
    show([...wholeTurn(), title, recorder("t_2", 20)("turn_start", 6000, { input: "And 3+3?", model: "m", trace_id: "cd".repeat(16) })]);
    open();
    expect(screen.getAllByRole("option").map(({ textContent }) => textContent)[1]).toBe("2. And 3+3?");
    expect(screen.getByRole<HTMLSelectElement>("combobox", { name: "Turn" }).value).toBe("t_2");
  });

  it("tells what a person thinks of the turn, the last word of it", () => {
    const rate = recorder("t_1", 30);
    show([...wholeTurn(), rate("feedback", 9000, { rating: "up", of: "turn" }), rate("feedback", 3_600_000, { rating: "down", reason: "too long", of: "turn" })]);
    open();
    expect(screen.getByText("Rated").parentElement?.textContent).toBe("Rated bad: too long");
    expect(screen.queryByText("Rated good")).toBeNull();
  });

  it("says in Chinese what it says in English", () => {
    settings.set({ language: "zh-Hans" });
    open();
    expect(screen.getByRole("tab", { name: "时间线" })).toBeTruthy();
  });
});

describe("the timeline", () => {
  it("speaks the reader's language, but for types that it does not know", () => {
    settings.set({ language: "zh-Hant" });
    const make = recorder("t_1", 19);
    show([...wholeTurn(), make("error", 3000, { code: "internal", message: "", retryable: true }), make("applause", 3001)]);
    const { container } = open();
    expect([...container.querySelectorAll(".bar-name")].map(({ textContent }) => textContent).slice(-2)).toEqual(["錯誤", "applause"]);
    expect(screen.getByRole("button", { name: /^add , 完成/ })).toBeTruthy();
  });

  it("speaks each row, and shows what is known of it when it is opened", () => {
    open();
    const retrieval = screen.getByRole("button", { name: /^Looked up: memory/ });
    fireEvent.click(retrieval);
    const row = within(screen.getByRole("row", { name: /Likes sums/ })).getAllByRole("cell").map((cell) => cell.textContent);
    expect(row.slice(0, 3)).toEqual(["2", "1", "0.8"]);
    expect(screen.getByText(/no room left/)).toBeTruthy();
  });

  it("leaves out what waited for people where that was most of the turn, and brings it back", () => {
    open();
    const box = screen.getByRole<HTMLInputElement>("checkbox");
    expect(box.checked).toBe(true);
    fireEvent.click(box);
    expect(box.checked).toBe(false);
  });

  it("links to the trace by the reader's own address, where there is one", () => {
    open();
    expect(screen.queryByRole("link")).toBeNull();
    act(() => settings.set({ traceAddress: "https://traces.example/t/{trace_id}" }));
    expect(screen.getByRole("link").getAttribute("href")).toBe(`https://traces.example/t/${"ab".repeat(16)}`);
  });
});

describe("the usage", () => {
  it("tells what all turns of the reader used, and what limits leave", async () => {
    vi.spyOn(client, "usage").mockResolvedValue({ since: 0, models: [{ model: "m", turns: 9, usage: { input_tokens: 1000, output_tokens: 234, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 }, cost: 1.5, unpriced: 0 }], beside: [], sessions: { used: 0, quota: 1073741824 }, limits: [
      { policy: "user:cost/month", unit: "dollars", limit: 20, used: 1.5, held: 0.25, left: 18.25, resets_at: 1796083200000 },
      { policy: "user:concurrent", unit: "turns", limit: 3, used: 0, held: 1, left: 2 },
    ] });
    open();
    choose("Usage");
    const mine = (await screen.findByRole("rowheader", { name: "You, 30 days" })).parentElement;
    expect(mine?.textContent).toContain("1,234");
    expect(mine?.textContent).toContain("$1.5");
    const left = (name: string) => within(screen.getByRole("row", { name: new RegExp(`^${name}`) })).getAllByRole("cell").slice(0, 2).map((cell) => cell.textContent);
    expect(left("user:cost/month")).toEqual(["$18.25", "$20.00"]);
    expect(left("user:concurrent")).toEqual(["2", "3"]);
  });

  it("tells of each call by class, and never takes what is unknown for 0", () => {
    open();
    choose("Usage");
    const cells = (name: RegExp) => within(screen.getByRole("row", { name })).getAllByRole("cell").map((cell) => cell.textContent);
    expect(cells(/^1 · attempt 2/)).toEqual(["100", "300", "50", "20", "470", "$0.25"]);
    expect(cells(/^2 m/)).toEqual(["100", "300", "50", "20", "470", "unknown"]);
    expect(cells(/^This turn/)).toEqual(["100", "300", "50", "60", "510", "unknown"]);
  });
});

describe("the prompt", () => {
  const part = { digest: "1".repeat(64), tokens: 40, tokens_before: 40, truncated: false, layer: "SYSTEM" as const };
  const sent: api.SentPrompt = {
    session_id: "s_1", turn_id: "t_1", model: "m", window: 1000, exact: false, prefix_hash: "aa", gone: { user: "abc" },
    parts: [
      { ...part, name: "identity", same: true, text: "You are kind." },
      { ...part, name: "style", same: false, truncated: true, tokens_before: 90 },
    ],
    tools: [{ name: "add", tokens: 12 }], summary_tokens: 0, earlier_messages: 3, earlier_tokens: 70,
    messages: [{ role: "user", tokens: 9, blocks: [{ type: "text", tokens: 5, text: "What is 2+2?" }] }],
  };

  it("is shown by its parts, with a text only where that was sent, and against the window", async () => {
    vi.spyOn(client, "sentPrompt").mockResolvedValue(sent);
    const { container } = open();
    choose("Prompt");
    await waitFor(() => expect(screen.getByText("You are kind.")).toBeTruthy());
    expect(screen.getByRole("meter").getAttribute("aria-valuetext")).toBe("450 of 1,000 tokens");
    expect(container.querySelector<HTMLElement>(".gauge-used")?.style.width).toBe("45%");
    expect(screen.getByText("cut from 90")).toBeTruthy();
    expect(screen.getByText(/The text is no longer known/)).toBeTruthy();
    const { violations } = await axe.run(container, { rules: { "color-contrast": { enabled: false }, region: { enabled: false } } });
    expect(violations.map(({ id }) => id)).toEqual([]);
  });

  it("is told by its digests where the server does not answer", async () => {
    vi.spyOn(client, "sentPrompt").mockRejectedValue(new Error("gone"));
    open();
    choose("Prompt");
    await waitFor(() => expect(screen.getByRole("alert")).toBeTruthy());
    expect(screen.getByText(/^style/)).toBeTruthy();
  });

  it("says what changed since the turn before", () => {
    const make = recorder("t_2", 19);
    const next = [
      make("turn_start", 5000, { input: "And 3+3?", model: "m", trace_id: "cd".repeat(16) }),
      make("iteration_start", 5001, { attempt: 1, model: "m", prefix_hash: "bb", components: { identity: "1", style: "3" } }, { iteration: 1 }),
    ];
    show([...wholeTurn(), ...next]);
    open();
    choose("Prompt");
    expect(screen.getByText(/^Changed/).textContent).toBe("Changed: style");
  });
});

describe("the raw events", () => {
  const rows = () => within(screen.getByRole("listbox")).getAllByRole("option").map((row) => row.querySelector(".type")?.textContent);

  it("are chosen by type, by words and by turn", async () => {
    open();
    choose("Events");
    await waitFor(() => expect(rows()).toHaveLength(16));
    fireEvent.change(screen.getByRole("searchbox"), { target: { value: "IS FOUR" } });
    await waitFor(() => expect(rows()).toEqual(["text"]));
    fireEvent.change(screen.getByRole("searchbox"), { target: { value: "" } });
    fireEvent.click(screen.getByRole("checkbox", { name: /^done/ }));
    await waitFor(() => expect(rows()).toEqual(["done"]));
  });

  it("are gone through by the keys of a list, and one is shown as it is", async () => {
    open();
    choose("Events");
    const list = screen.getByRole("listbox");
    await waitFor(() => expect(rows()).toHaveLength(16));
    fireEvent.keyDown(list, { key: "Home" });
    fireEvent.keyDown(list, { key: "ArrowDown" });
    const active = list.getAttribute("aria-activedescendant") ?? "";
    expect(document.getElementById(active)?.getAttribute("aria-selected")).toBe("true");
    expect(screen.getByText(/"query": "2\+2"/)).toBeTruthy();
  });

  it("are drawn as far as they are on the screen, of a log of 100,000", async () => {
    const make = recorder();
    const many = Array.from({ length: 100_000 }, (_, place) => make("warning", place, { code: "x", message: String(place) }, { turn_id: `t_${place}` }));
    app.set({ events: many });
    open();
    choose("Events");
    await waitFor(() => expect(screen.getByText("100,000 of 100,000")).toBeTruthy());
    expect(rows().length).toBeLessThan(100);
  });
});

describe("the replay of a file", () => {
  it("is drawn in the place of the session, which comes back afterwards; nothing is sent", async () => {
    const sent = vi.spyOn(globalThis, "fetch");
    const kept = app.get().events;
    const { container } = open();
    choose("Replay");
    give(container, recorded());
    await waitFor(() => expect(screen.getByRole("slider")).toBeTruthy());
    fireEvent.click(screen.getByRole("button", { name: "One turn on" }));
    expect(app.get().replay).not.toBeNull();
    expect(app.get().events.length).toBeGreaterThan(0);
    fireEvent.click(screen.getByRole("button", { name: "One turn on" }));
    expect(screen.getByText(/Event 18 of 18/)).toBeTruthy();
    fireEvent.keyDown(screen.getByRole("slider"), { key: "ArrowLeft" });
    expect(screen.getByText(/Event 14 of 18/)).toBeTruthy();
    fireEvent.change(screen.getByRole("slider"), { target: { value: "2741" } });
    expect(screen.getByText(/Event 18 of 18/)).toBeTruthy();
    fireEvent.click(screen.getByRole("button", { name: "End the replay" }));
    expect([app.get().replay, app.get().events]).toEqual([null, kept]);
    expect(sent).not.toHaveBeenCalled();
  });

  it("says why a file cannot be played", async () => {
    const { container } = open();
    choose("Replay");
    give(container, new File(["hello\n"], "x.jsonl"));
    await waitFor(() => expect(screen.getByRole("alert").textContent).toBe("It is not JSON (line 1)."));
  });

  it("ends when another session is opened", async () => {
    const { container } = open();
    choose("Replay");
    give(container, recorded());
    await waitFor(() => expect(screen.getByRole("slider")).toBeTruthy());
    act(() => app.set({ ...NOTHING, replay: null }));
    expect(screen.queryByRole("slider")).toBeNull();
  });
});
