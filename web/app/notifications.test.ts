import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { keepNotifying } from "./notifications";
import { settings } from "./settings";
import { chats } from "./sidebar/chats";

const shown: { title: string; body: string; tag: string }[] = [];
let end: () => void;
let isHidden = true;

beforeEach(() => {
  vi.useFakeTimers();
  shown.length = 0;
  isHidden = true;
  vi.stubGlobal("isSecureContext", true);
  function shownTo(title: string, { body, tag }: { body: string; tag: string }): void {
    shown.push({ title, body, tag });
  }
  vi.stubGlobal("Notification", Object.assign(shownTo, { permission: "granted" }));
  vi.spyOn(document, "hidden", "get").mockImplementation(() => isHidden);
  settings.set({ language: "en", notify: true });
  chats.store.set({ chats: [], state: "loading", approvals: [] });
  end = keepNotifying();
});

afterEach(() => {
  end();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const chat = (status?: string) => ({ id: "s", title: "Garden", ...(status === undefined ? {} : { status }) }) as never;
const list = (status?: string, approvals: object[] = []) => chats.store.set({ chats: [chat(status)], state: "ready", approvals: approvals as never });
const runFor = async (ms: number) => {
  list("running");
  await vi.advanceTimersByTimeAsync(ms);
  list();
  await vi.advanceTimersByTimeAsync(0);
};

test("a long answer that is there is told to who looks elsewhere", async () => {
  await runFor(20_000);
  expect(shown).toEqual([{ title: "Garden", body: "The answer is there.", tag: "gateway s" }]);
  list();
  await vi.advanceTimersByTimeAsync(0);
  expect(shown).toHaveLength(1);
});

test("a short one is not, nor one that is looked at, nor to who has not asked for it", async () => {
  await runFor(5_000);
  isHidden = false;
  await runFor(20_000);
  isHidden = true;
  settings.set({ notify: false });
  await runFor(20_000);
  settings.set({ notify: true });
  (Notification as unknown as { permission: string }).permission = "denied";
  await runFor(20_000);
  expect(shown).toEqual([]);
});

test("a call that waits is told once, and none that waited before", async () => {
  const call = (id: string) => ({ session_id: "s", tool_call_id: id, name: "water" });
  list("awaiting_approval", [call("a")]);
  await vi.advanceTimersByTimeAsync(0);
  expect(shown).toEqual([]);
  list("awaiting_approval", [call("a"), call("b")]);
  list("awaiting_approval", [call("a"), call("b")]);
  await vi.advanceTimersByTimeAsync(0);
  expect(shown).toEqual([{ title: "Garden", body: "water waits for your approval.", tag: "gateway s" }]);
});
