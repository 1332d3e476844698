import { type Event, emptyConversation, reduceAll } from "@chat-gateway/client";
import { act, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { caller } from "../caller";
import { fakeServer } from "../fake-server";
import { settings } from "../settings";
import { app, client, NOTHING } from "../state";
import { TurnView } from "./TurnView";

type Given = [type: string, data: object, more?: { iteration?: number; tool_call_id?: string }];

function eventsOf(...given: Given[]): Event[] {
  return given.map(([type, data, more], at) => ({ v: 1, seq: at + 1, type, ts: 1_795_187_109_000 + at * 100, session_id: "s", turn_id: "t", ...more, data }) as Event);
}

const START: Given = ["turn_start", { input: "What is 17*23?", model: "m", trace_id: "x" }];
const BEGIN: Given = ["iteration_start", { attempt: 1, model: "m" }, { iteration: 1 }];
const CALL: Given = ["tool_call", { name: "water", arguments: { plant: "玫瑰 <b>", litres: 5 }, effect: "effectful" }, { iteration: 1, tool_call_id: "c" }];
const RESULT: Given = ["tool_result", { name: "water", status: "ok", content: "watered", duration_ms: 3 }, { iteration: 1, tool_call_id: "c" }];
const done = (more: object = {}): Given => ["done", { status: "completed", iterations: 1, duration_ms: 1500, ...more }];
const text = (said: string): Given => ["text", { text: said }, { iteration: 1 }];

function draw(...given: Given[]): HTMLElement {
  app.set({ ...NOTHING, state: "ready", conversation: reduceAll(emptyConversation(), eventsOf(...given)) });
  return render(<TurnView session="s" id="t" position={1} count={1} />).container;
}

const press = (name: string) => act(() => {
  fireEvent.click(screen.getByRole("button", { name }));
  return Promise.resolve();
});
const outcome = (root: HTMLElement) => root.querySelector(".outcome")?.textContent;

beforeEach(() => {
  localStorage.clear();
  settings.set({ language: "en" });
  fakeServer({}); // which compression is in force is told by nobody here
});

it("says which tool runs, and thinks while none does", () => {
  expect(draw(START, BEGIN).querySelector(".waiting")?.textContent).toBe("Thinking…");
  expect(draw(START, BEGIN, CALL).querySelector(".waiting")?.textContent).toBe("water is running…");
  expect(draw(START, BEGIN, CALL, RESULT).querySelector(".waiting")?.textContent).toBe("Thinking…");
});

it("shows the last line of a thought while it grows, and then how long it took", () => {
  const thought = (text: string): Given => ["thinking", { text }, { iteration: 1 }];
  const grows = draw(START, BEGIN, thought("First **this**.\n"), thought("\nThen `that`"));
  expect(grows.querySelector(".thinking summary")?.textContent).toBe("ThinkingThen that");
  expect(grows.querySelector(".thinking .thought")?.getAttribute("aria-hidden")).toBe("true");
  const over = draw(START, BEGIN, thought("First this."), text("391"), done());
  expect(over.querySelector(".thinking summary")?.textContent).toBe("Thought for 0.1 s");
  expect(over.querySelector(".thinking .prose")).toBeNull();
  const within = draw(START, BEGIN, text("<think>Hm.</think>391"), done()); // no log tells when it ended
  expect(within.querySelector(".thinking summary")?.textContent).toBe("Thoughts");
});

it("tells that the model is waited for, until it is asked", () => {
  const busy: Given = ["warning", { code: "model_busy", message: "Waiting for the model: 2 requests …", before: 2 }, { iteration: 1 }];
  const starting: Given = ["warning", { code: "model_starting", message: "The model's server is starting …" }, { iteration: 1 }];
  const lost: Given = ["iteration_superseded", { attempt: 1, reason: "upstream_error" }, { iteration: 1 }];
  const root = draw(START, busy);
  expect(root.querySelector(".waiting")?.textContent).toBe("Waiting for the model (2 before you)…");
  expect(root.querySelector(".warning")).toBeNull();
  expect(draw(START, busy, BEGIN).querySelector(".waiting")?.textContent).toBe("Thinking…");
  expect(draw(START, BEGIN, lost, starting).querySelector(".waiting")?.textContent).toBe("Waiting for the model’s server to start…");
  expect(draw(START, busy, BEGIN, text("391"), done()).querySelector(".warning, .waiting")).toBeNull();
});

it("tells the wait for a person apart from the work", () => {
  const asked: Given = ["approval_request", { name: "water", arguments: {}, expires_at: 2 }, { tool_call_id: "c" }];
  const answered: Given = ["approval_response", { decision: "approved", by: "local" }, { tool_call_id: "c" }];
  const events = eventsOf(START, BEGIN, CALL, asked, answered, RESULT, done({ duration_ms: 61_500 }))
    .map((event) => event.seq > 4 ? { ...event, ts: event.ts + 60_000 } : event);
  app.set({ ...NOTHING, state: "ready", conversation: reduceAll(emptyConversation(), events) });
  expect(outcome(render(<TurnView session="s" id="t" position={1} count={1} />).container)).toBe("1.4 s · waited 60 seconds for approval");
});

it("names who sent a message of a shared chat, and who decided about its calls, by their project", async () => {
  const ada = `m_${"a".repeat(32)}`, gone = `m_${"b".repeat(32)}`;
  vi.spyOn(client, "session").mockResolvedValue({ project_id: "p_1" } as never);
  vi.spyOn(client, "project").mockResolvedValue({ members: [{ user: "ada", handle: ada }] } as never);
  const approved: Given = ["approval_response", { decision: "approved", by: ada }, { tool_call_id: "c" }];
  const root = draw(["turn_start", { ...START[1], by: ada }], BEGIN, CALL, approved, RESULT, done());
  await screen.findByText("From ada");
  expect(root.querySelector(".decision")?.textContent).toBe("Approved by ada");
  const other = draw(["turn_start", { ...START[1], by: gone }], BEGIN, done());
  act(() => app.set({ details: { id: "s", may: ["read"] } as never })); // somebody else's chat
  expect(other.querySelector(".sent-by")?.textContent).toBe("From a member of the project");
});

it("does not say of a chat's own author that a member of the project wrote it, wherever the chat has moved", async () => {
  const before = `m_${"c".repeat(32)}`, ended = `m_${"d".repeat(32)}`;
  caller.set({ me: { user_id: "ada" } as never });
  vi.spyOn(client, "session").mockResolvedValue({} as never);
  vi.spyOn(client, "projects").mockResolvedValue({ projects: [{ id: "p_2" }] } as never);
  const asked = vi.spyOn(client, "project").mockResolvedValue({ members: [{ user: "ada", handle: before }, { user: "bob", handle: "m_b" }] } as never);
  const root = draw(["turn_start", { ...START[1], by: before }], BEGIN, done());
  await vi.waitFor(() => expect(asked).toHaveBeenCalledWith("p_2"));
  expect(root.querySelector(".sent-by")).toBeNull();
  expect(draw(["turn_start", { ...START[1], by: ended }], BEGIN, done()).querySelector(".sent-by")).toBeNull();
  caller.set({ me: null });
});

it("leaves a message out that was taken back while it waited, and not one that was stopped", () => {
  const queued: Given = ["turn_start", { ...START[1], queued_ms: 20 }];
  expect(draw(queued, done({ status: "cancelled", iterations: 0 })).querySelector(".turn")).toBeNull();
  expect(draw(queued, BEGIN, done({ status: "cancelled", iterations: 1 })).querySelector(".turn")).not.toBeNull();
  expect(draw(START, done({ status: "cancelled", iterations: 0 })).querySelector(".turn")).not.toBeNull();
});

describe("how a turn ended", () => {
  const usage = { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 100, cache_creation_input_tokens: 20 };

  it.each([
    ["counts the cache among the tokens", { usage, cost: 0.0098 }, "1.5 s · 135 tokens · $0.0098"],
    ["says nothing of a cost that is unknown", { usage }, "1.5 s · 135 tokens"],
    ["says that there were more tokens than it knows", { usage, usage_unreported: 1, cost: 0 }, "1.5 s · at least 135 tokens · $0.0000"],
    ["says nothing of what nobody counted", {}, "1.5 s"],
    ["says the minutes of a long one", { duration_ms: 1_800_600 }, "30:01 min"],
    ["says that it was stopped", { status: "cancelled" }, "Stopped · 1.5 s"],
    ["says that it was cut short", { stop_reason: "max_tokens" }, "Cut off at the length limit. · 1.5 s"],
  ])("%s", (_, more, expected) => {
    expect(outcome(draw(START, BEGIN, text("391"), done(more)))).toBe(expected);
  });

  it("says that a cost is unknown to who asks", () => {
    const root = draw(START, BEGIN, text("391"), done({ usage }));
    expect(root.querySelector(".outcome")?.getAttribute("title")).toContain("cost unknown");
  });

  it("is why, and whether trying again helps", () => {
    const root = draw(START, ["error", { code: "upstream_overloaded", message: "Overloaded", retryable: true }], done({ status: "failed" }));
    expect(root.querySelector(".note.error p")?.textContent).toBe("Overloaded. Trying again may help.");
  });

  it("is not told of what did not run here", () => {
    expect(outcome(draw(["turn_start", { input: "a", model: "m", trace_id: "x", seeded: true }], done()))).toBe("From another chat or app");
  });
});

describe("an answer", () => {
  it("waits until something comes, and not when it is over", () => {
    expect(draw(START).querySelector(".waiting")).not.toBeNull();
    document.body.replaceChildren();
    expect(draw(START, done()).querySelector(".waiting")).toBeNull();
  });

  it("drops what a withdrawn attempt had said, and tells of it until it is over", () => {
    const events: Given[] = [START, BEGIN, text("wrong"), ["iteration_superseded", { attempt: 1, reason: "upstream_timeout" }, { iteration: 1 }],
      ["iteration_start", { attempt: 2, model: "m" }, { iteration: 1 }], text("right")];
    expect(draw(...events, done()).querySelector(".withdrawn")).toBeNull();
    document.body.replaceChildren();
    const root = draw(...events);
    expect(root.textContent).not.toContain("wrong");
    expect(root.querySelector(".prose")?.textContent).toBe("right");
    expect(root.querySelector(".withdrawn")?.textContent).toBe("Attempt 1 was withdrawn: upstream timeout");
  });

  it("shows an event of a later version as it is", () => {
    const root = draw(START, ["constellation", { stars: 7 }], done());
    expect(root.querySelector(".unknown")?.textContent).toContain("constellation (of a newer version)");
    expect(root.querySelector(".unknown pre")?.textContent).toContain('"stars": 7');
  });

  it("tells what happened to a schedule, and which messages one sent", () => {
    const schedule = (action: string, more: object = {}): Given => ["schedule", { schedule_id: "sch_1", name: "News", action, ...more }];
    const root = draw(["turn_start", { input: "news", model: "m", trace_id: "x", dialect: "schedule" }], schedule("created", { by: "model" }), schedule("missed", { code: "late" }), done());
    expect(root.querySelector(".sent-by")?.textContent).toBe("Sent by a schedule");
    const [made, missed] = root.querySelectorAll(".schedule");
    expect(made?.textContent).toBe("Schedule made: News Schedules");
    expect(made?.querySelector("a")?.getAttribute("href")).toBe("#p=schedules");
    expect(missed?.className).toContain("trouble");
    expect(root.querySelector(".unknown")).toBeNull();
  });

  it("tells sources, and memories with why they were told", () => {
    const found = { query: "q", source: "docs", results: [{ id: "1", source: "docs/a.md", snippet: "text", score: 1, title: "A" }], tokens: 9 };
    const memory = { id: "m", source: "memory", snippet: "likes tea", score: 1, type: "preference", importance: 3, told: "now", lexical_rank: 1 };
    const standing = { query: "", source: "memory", mode: "snapshot", results: [memory], tokens: 3 };
    const root = draw(START, ["retrieval", standing], ["retrieval", found], ["retrieval", { query: "q", source: "memory", mode: "catalog", results: [memory], tokens: 3, omitted: 2 }], done());
    expect(root.querySelector(".found:not(.recalled)")?.textContent).toContain("1 source");
    const [snapshot, recalled] = root.querySelectorAll(".recalled");
    expect(snapshot?.textContent).toContain("In the prompt of this chat: 1");
    expect(recalled?.textContent).toContain("Looked up for this message: 1");
    expect(recalled?.textContent).toContain("preference · importance 3 · new in this chat · by words 1");
    expect(recalled?.textContent).toContain("Found but not used: 2");
  });
});

describe("a question", () => {
  it("is shown as it was written, whatever it looks like", () => {
    const written = "<conversation_summary>\n## Goal\n<b>mine</b>\n</conversation_summary>";
    const root = draw(["turn_start", { input: written, model: "m", trace_id: "x" }], done());
    expect(root.querySelector(".question")?.textContent).toBe(written);
    expect(root.querySelector(".compression, .question b")).toBeNull();
  });
});

describe("a compression", () => {
  const compression = (phase: string, more: object = {}): Given => ["compression", { phase, ...more }];
  const COMPLETED = compression("completed", { version: 2, covers: { first: 5, last: 10 }, tokens_before: 9000, tokens_after: 812 });

  it("inside a turn stands where it happened, as one card", () => {
    const root = draw(START, compression("started"), COMPLETED, BEGIN, text("here it is"), done());
    expect([...root.querySelectorAll(".answer > .compression, .answer > .prose")].map(({ textContent }) => textContent.slice(0, 44)))
      .toEqual(["Messages 5–10 archived, 9,000 → 812 tokensSu", "here it is"]);
  });

  it("that failed says why, and that nothing was changed", () => {
    const root = draw(START, compression("started"), compression("failed", { reason: "summary_refused: It said no." }), BEGIN, text("on"), done());
    expect(root.querySelector(".compression.trouble")?.textContent).toBe("Not compressed. Nothing has changed. The model refused to write a summary.");
    settings.set({ language: "zh-Hans" });
    document.body.replaceChildren();
    expect(draw(START, compression("failed", { reason: "summary_refused: It said no." })).textContent).toContain("模型拒绝写摘要。");
  });

  it("shows its own summary as text, and gives its own messages as a file", async () => {
    const summary = { goal: "", facts: ["My name is <img src=x onerror=alert(1)>."] };
    const read = vi.spyOn(client, "compression").mockResolvedValue({ summary } as never);
    const archive = vi.spyOn(client, "compressionArchive").mockResolvedValue(new File(["x"], "a.gz"));
    vi.spyOn(URL, "createObjectURL").mockReturnValue("blob:file");
    const root = draw(START, COMPLETED, done());
    expect(root.textContent).not.toContain("My name");
    await press("Summary");
    expect(root.querySelector(".summary li")?.textContent).toBe("My name is <img src=x onerror=alert(1)>.");
    expect(root.querySelector(".summary img")).toBeNull();
    await press("Messages as a file");
    expect([read.mock.calls, archive.mock.calls]).toEqual([[["s", 2]], [["s", 2]]]);
  });
});

describe("a call", () => {
  it("is told with its arguments, its result and its steps", () => {
    const steps = [{ step_id: "1", step_name: "open", duration_ms: 1 }, { step_id: "2", step_name: "look", duration_ms: 2, error: "LookupError" }];
    const root = draw(START, BEGIN, CALL, ["tool_result", { name: "water", status: "ok", content: "<b>", duration_ms: 1, steps }, { iteration: 1, tool_call_id: "c" }], done());
    expect(root.querySelector(".state")?.textContent).toBe("done");
    expect(root.querySelector(".result")?.textContent).toBe("<b>");
    expect(root.querySelector(".steps .trouble")?.textContent).toContain("LookupError");
  });

  it("asks for approval, with the arguments as they are", () => {
    const root = draw(START, BEGIN, CALL, ["approval_request", { name: "water", arguments: { plant: "a\u202eb" }, reason: "It has effects." }, { iteration: 1, tool_call_id: "c" }]);
    const card = root.querySelector<HTMLElement>(".approval");
    expect(card?.querySelector("pre")?.textContent).toContain("a\\u202eb");
    expect(card?.textContent).toContain("It may change something.");
  });

  it("says in words what the assistant would change, and what it has read", () => {
    const reason = "It would forget what is remembered: Allergic to nuts.\nYour message does not ask for that, and the assistant has read what others wrote (attachment, mcp__x__y), which may have led it there.";
    const root = draw(START, BEGIN, CALL, ["approval_request", { name: "water", arguments: {}, reason }, { iteration: 1, tool_call_id: "c" }]);
    const told = root.querySelector(".approval > p")?.textContent ?? "";
    expect(told).toContain("Forget: Allergic to nuts.");
    expect(told).toContain("(a file, mcp__x__y)");
  });

  it.each([
    [{ decision: "approved", by: "ada" }, "Approved by ada"],
    [{ decision: "approved", by: "grant", scope: "session" }, "Approved before, for this chat"],
    [{ decision: "denied", by: "ada", reason: "It rains" }, "Denied by ada: It rains"],
    [{ decision: "denied", by: "expiry", reason: "x" }, "Nobody approved it in time"],
    [{ decision: "approved", by: "ada", arguments: { plant: "rose" } }, "Approved by ada, with edited arguments"],
  ])("tells who decided: %o", (response, expected) => {
    const root = draw(START, BEGIN, CALL, ["approval_response", response, { iteration: 1, tool_call_id: "c" }], RESULT, done());
    expect(root.querySelector(".decision")?.textContent).toBe(expected);
  });

  it("sends edited arguments as they were written", async () => {
    const sent = vi.spyOn(client.connection, "send").mockResolvedValue(new Response());
    draw(START, BEGIN, CALL, ["approval_request", { name: "water", arguments: { cents: 1 } }, { iteration: 1, tool_call_id: "c" }]);
    fireEvent.click(screen.getByRole("button", { name: "Edit arguments" }));
    fireEvent.change(screen.getByLabelText("Arguments (JSON)"), { target: { value: '{"cents": 9007199254740995}' } });
    await press("Approve");
    expect(sent.mock.calls[0]?.[0]).toBe("/api/sessions/s/turns/t/approvals/c");
    expect(sent.mock.calls[0]?.[1]?.body).toBe('{"decision":"approve","arguments":{"cents": 9007199254740995}}');
  });

  it("tells of a written skill that it was read, or why not", () => {
    const skill = (more: object): Given => ["skill", { name: "tend-roses", type: "markdown", ...more }, { iteration: 1, tool_call_id: "c" }];
    const root = draw(START, BEGIN, CALL, skill({ action: "read" }), skill({ action: "refused", reason: "It is no tool." }), RESULT, done());
    expect(root.querySelector(".skill.read")?.textContent).toBe("Read the skill tend-roses");
    expect(root.querySelector(".skill.refused")?.textContent).toBe("tend-roses: It is no tool.");
  });

  it("says that another app runs it", () => {
    const root = draw(START, BEGIN, ["tool_call", { name: "locate", arguments: {}, effect: "effectful", runs_on: "client" }, { iteration: 1, tool_call_id: "c" }]);
    expect(root.querySelector(".client")?.textContent).toContain("locate runs in the app that sent this message");
  });
});

describe("how much is shown of the steps", () => {
  const found: Given = ["retrieval", { query: "q", source: "docs", results: [], tokens: 9 }];
  const story: Given[] = [START, found, BEGIN, ["thinking", { text: "hm" }, { iteration: 1 }], CALL, RESULT, text("watered")];
  afterEach(() => settings.set({ detail: "normal" }));

  it("is a line for each of them", () => {
    const root = draw(...story, done());
    expect(root.querySelectorAll("details.step")).toHaveLength(3);
    expect(root.querySelector("details[open]")).toBeNull();
  });

  it("is each in full", () => {
    settings.set({ detail: "all" });
    expect(draw(...story, done()).querySelectorAll("details.step[open]")).toHaveLength(3);
  });

  it("is one line for all of them, with what runs", () => {
    settings.set({ detail: "quiet" });
    expect(draw(START, found, BEGIN, CALL).querySelector(".few.running summary")?.textContent).toBe("water");
    document.body.replaceChildren();
    const root = draw(...story, done());
    expect([...root.querySelectorAll("details.step")].map((each) => each.textContent)).toEqual(["Steps: 3"]);
    expect(root.querySelector(".prose")?.textContent).toBe("watered");
  });

  it("never leaves out what waits for the reader, or is theirs", () => {
    settings.set({ detail: "quiet" });
    const asks: Given = ["approval_request", { name: "water", arguments: {}, reason: "It has effects." }, { iteration: 1, tool_call_id: "c" }];
    expect(draw(START, found, BEGIN, CALL, asks).querySelector(".approval")).not.toBeNull();
    document.body.replaceChildren();
    const artifact: Given = ["artifact", { ref: "ART-0000000001", mime: "text/plain", size: 3, summary: "s" }, { iteration: 1, tool_call_id: "c" }];
    const kept = draw(START, BEGIN, CALL, artifact, RESULT, ["memory", { op: "remembered", memory_id: "m", kind: "fact", content: "tea", reason: "said" }], done());
    expect(kept.querySelector(".artifact")).not.toBeNull();
    expect(kept.querySelector(".memory")).not.toBeNull();
  });
});

describe("what was remembered", () => {
  const REMEMBERED: Given = ["memory", { op: "remembered", memory_id: "m", kind: "fact", content: "我喜欢简约的设计风格", reason: "said", version: 2 }];

  it("can be taken back, which the log tells", async () => {
    const forget = vi.spyOn(client, "forget").mockResolvedValue();
    const root = draw(START, REMEMBERED, done());
    expect(root.querySelector(".memory span")?.textContent).toBe("Remembered: “我喜欢简约的设计风格”");
    await press("Undo");
    expect(forget).toHaveBeenCalledWith("m", 2, "s");
    expect(root.querySelector(".memory button")).toBeNull();
    const told = { ...eventsOf(["memory", { op: "forgotten", memory_id: "m", kind: "fact", reason: "", version: 3 }])[0], seq: 9, turn_id: "c_1" } as Event;
    act(() => app.set({ conversation: reduceAll(app.get().conversation, [told]) }));
    expect(root.querySelector(".memory")?.textContent.trim()).toBe("Forgotten again");
    const beside = render(<TurnView session="s" id="c_1" position={2} count={2} />);
    expect(beside.container.childElementCount).toBe(0);
    document.body.replaceChildren();
    const reloaded = render(<TurnView session="s" id="t" position={1} count={1} />).container;
    expect(reloaded.querySelector(".memory")?.textContent.trim()).toBe("Forgotten again");
    expect(reloaded.querySelector(".memory button")).toBeNull();
  });
});

describe("what was forgotten", () => {
  const led = { cause: "outside", sources: ["http_fetch", "attachment"] };
  const told = (data: object) => ({ ...eventsOf(["memory", { memory_id: "m", kind: "fact", reason: "", ...data }])[0], seq: 9, turn_id: "c_1" }) as Event;

  it("says what led to it, and is brought back", async () => {
    const restore = vi.spyOn(client, "restoreMemory").mockResolvedValue({} as never);
    const root = draw(START, ["memory", { op: "forgotten", memory_id: "m", kind: "fact", reason: "why", version: 3, ...led }], done());
    expect(root.querySelector(".memory")?.textContent).toContain("Forgotten after the assistant had read what others wrote (http_fetch, attachment)");
    await press("Undo");
    expect(restore).toHaveBeenCalledWith("m", undefined, 3, "s");
    act(() => app.set({ conversation: reduceAll(app.get().conversation, [told({ op: "restored", content: "花生", version: 4 })]) }));
    expect(root.querySelector(".memory span")?.textContent).toBe("Remembered again: “花生”");
    expect(root.querySelector(".memory button")).toBeNull();
    expect(render(<TurnView session="s" id="c_1" position={2} count={2} />).container.childElementCount).toBe(0);
  });

  it("is as a correction undone by the version before", async () => {
    const restore = vi.spyOn(client, "restoreMemory").mockResolvedValue({} as never);
    draw(START, ["memory", { op: "corrected", memory_id: "m", kind: "fact", content: "tea", reason: "why", version: 5 }], done());
    await press("Undo");
    expect(restore).toHaveBeenCalledWith("m", 4, 5, "s");
  });
});

describe("what a person thinks of an answer", () => {
  it("is told the server, with a reason", async () => {
    const asked = vi.spyOn(client.connection, "ask").mockResolvedValue(undefined);
    draw(START, BEGIN, text("391"), done());
    await press("Bad answer");
    fireEvent.change(screen.getByLabelText("What was wrong? (optional)"), { target: { value: "too short" } });
    await press("Send feedback");
    expect(asked.mock.calls.map(([, path, options]) => [path, options?.body])).toEqual([
      ["/api/sessions/s/turns/t/feedback", { rating: "down" }],
      ["/api/sessions/s/turns/t/feedback", { rating: "down", reason: "too short" }],
    ]);
  });

  it("is what the log says", () => {
    const root = draw(START, BEGIN, text("391"), done(), ["feedback", { rating: "up", reason: "short", of: "turn" }]);
    const actions = root.querySelector<HTMLElement>(".actions");
    expect(actions && within(actions).getByRole("button", { name: "Good answer" }).getAttribute("aria-pressed")).toBe("true");
    expect(actions?.querySelector(".reason")?.textContent).toBe("short");
  });
});
