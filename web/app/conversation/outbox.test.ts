import { Unreachable } from "@chat-gateway/client";
import { beforeEach, describe, expect, it, vi } from "vitest";

import { client, NOTHING } from "../state";
import { attach, bringBack, draftOf, isReady, remove, take, write } from "./drafts";

const accepted = { turn_id: "t", session_id: "s", status: "accepted", seq: 0 } as const;

/** The outbox of a page that was just opened, and how the server takes messages there. */
async function outbox(answer: () => Promise<typeof accepted>) {
  vi.resetModules();
  const state = await import("../state");
  state.app.set({ ...NOTHING, place: { session: "s", turn: null, page: null } });
  const start = vi.spyOn(state.client, "startTurn").mockImplementation(answer);
  const made = await import("./outbox");
  made.keepOutbox();
  return { ...made, start };
}

const keptMessages = () => Object.entries(localStorage).filter(([name]) => name.startsWith("gateway.outbox.")).map(([, value]) => String(value)).join();
const offline = () => Promise.reject<typeof accepted>(new Unreachable("no"));
const taken = () => Promise.resolve(accepted);

beforeEach(() => localStorage.clear());

describe("a message", () => {
  it("waits its turn where another one runs", async () => {
    const { send, start } = await outbox(taken);
    send("s", "hello", []);
    expect(start.mock.calls[0]?.[0]).toBe("s");
    expect(start.mock.calls[0]?.[1]).toMatchObject({ message: "hello", on_conflict: "queue" });
  });

  it("that the network does not take is kept, and sent again under its id", async () => {
    const { send, start } = await outbox(offline);
    send("s", "hello", []);
    await vi.waitFor(() => expect(keptMessages()).toContain('"state":"unsent"'));
    start.mockImplementation(taken);
    dispatchEvent(new Event("online"));
    await vi.waitFor(() => expect(start).toHaveBeenCalledTimes(2));
    const ids = start.mock.calls.map(([, body]) => (body as { client_message_id?: string }).client_message_id);
    expect(ids[0]).toBe(ids[1]);
  });

  it("outlasts the page", async () => {
    const { send } = await outbox(offline);
    send("s", "hello", []);
    await vi.waitFor(() => expect(keptMessages()).toContain("hello"));
    const { start } = await outbox(taken);
    await vi.waitFor(() => expect(start.mock.lastCall?.[1]).toMatchObject({ message: "hello" }));
  });

  it("is refused for a file that is gone, and says for which", async () => {
    const file = { ref: "ART-1", name: "a.txt", mime: "text/plain", size: 1 };
    const { lostFile } = await outbox(taken);
    const error = { code: "artifact_not_found", message: "There is no ART-1." };
    expect(lostFile({ id: "m", at: 1, session: "s", text: "x", files: [file], onConflict: "queue", state: "refused", error })).toBe(file);
  });
});

describe("a draft", () => {
  it("is each chat's own, and outlasts the page", () => {
    write("a", "one");
    write("b", "two");
    expect([draftOf("a").text, draftOf("b").text]).toEqual(["one", "two"]);
    expect(localStorage.getItem("gateway.draft.a")).toContain("one");
    expect(take("a")).toEqual({ text: "one", files: [] });
    expect(draftOf("a").text).toBe("");
  });

  it("waits for its files, and not when one is removed", () => {
    let finish: (kept: object) => void = () => undefined;
    vi.spyOn(client, "keepArtifact").mockImplementation(() => new Promise((resolve) => {
      finish = resolve as typeof finish;
    }));
    write("c", "look");
    attach("c", [new File(["x"], "C:\\a\u202eb.txt")]);
    expect(draftOf("c").uploads[0]?.name).toBe("ab.txt");
    expect(isReady("c")).toBe(false);
    expect(draftOf("c")).toMatchObject({ isWaiting: true, note: "uploading" });
    const [upload] = draftOf("c").uploads;
    if (upload) remove("c", upload);
    expect(draftOf("c")).toMatchObject({ isWaiting: false, note: "calledOff", text: "look" });
    finish({ ref: "ART-1", mime: "text/plain", size: 1 });
  });

  it("takes a message back above what is written by now", () => {
    write("d", "later");
    bringBack("d", "first", []);
    expect(draftOf("d").text).toBe("first\nlater");
  });
});
