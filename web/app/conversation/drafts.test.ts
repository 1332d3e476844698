import { beforeEach, expect, test, vi } from "vitest";

const KEY = "gateway.draft.";
const said = (text: string, ...refs: string[]) => ({ text, files: refs.map((ref) => ({ ref, name: ref, mime: "text/plain", size: 1 })) });

// As another tab writes it.
function write(chat: string, draft: object | null): void {
  const oldValue = localStorage.getItem(KEY + chat);
  const newValue = draft && JSON.stringify(draft);
  if (newValue === null) localStorage.removeItem(KEY + chat);
  else localStorage.setItem(KEY + chat, newValue);
  dispatchEvent(Object.assign(new Event("storage"), { key: KEY + chat, oldValue, newValue, storageArea: localStorage }));
}

async function opened() {
  vi.resetModules();
  return import("./drafts");
}

beforeEach(() => {
  localStorage.clear();
  sessionStorage.clear();
});

test("a page that is loaded anew has the drafts with their files", async () => {
  localStorage.setItem(`${KEY}s`, JSON.stringify(said("草稿", "ART-1")));
  const { draftOf } = await opened();
  expect(draftOf("s").text).toBe("草稿");
  expect(draftOf("s").uploads).toMatchObject([{ name: "ART-1", state: "ready" }]);
});

test("a tab without words of its own follows another one, and keeps its own where it has some", async () => {
  const drafts = await opened();
  write("s", said("草稿A"));
  expect(drafts.draftOf("s")).toMatchObject({ text: "草稿A", other: null });
  drafts.write("s", "草稿A is mine");
  write("s", said("草稿B"));
  expect(drafts.draftOf("s")).toMatchObject({ text: "草稿A is mine", other: said("草稿B") });
  drafts.takeOther("s");
  expect(drafts.draftOf("s")).toMatchObject({ text: "草稿B", other: said("草稿A is mine") });
  drafts.leaveOther("s");
  write("s", said("草稿B and more"));
  expect(drafts.draftOf("s")).toMatchObject({ text: "草稿B and more", other: null });
});

test("what was sent in another tab is gone here, and what was emptied there is not", async () => {
  const drafts = await opened();
  drafts.write("s", "草稿A");
  write("s", said(""));
  expect(drafts.draftOf("s").text).toBe("草稿A");
  drafts.write("s", "草稿B");
  write("s", null);
  expect(drafts.draftOf("s").text).toBe("");
});

test("a tab that sends its own words leaves the other's where they were", async () => {
  const drafts = await opened();
  drafts.write("s", "草稿A");
  write("s", said("草稿B"));
  expect(drafts.take("s").text).toBe("草稿A");
  expect(JSON.parse(localStorage.getItem(`${KEY}s`) ?? "null")).toEqual(said("草稿B"));
});

test("a long text that is a file can be a text again, wherever it stood", async () => {
  const drafts = await opened();
  const long = "一行\n".repeat(600);
  expect([drafts.isLong(long), drafts.isLong("a".repeat(20_001)), drafts.isLong("short\n".repeat(400))]).toEqual([true, true, false]);
  drafts.write("s", "before  after");
  drafts.offerAsFile("s", long.replaceAll("\n", "\r\n"), 7);
  drafts.write("s", `before ${long} after`);
  drafts.attachPasted("s", "pasted.txt");
  expect(drafts.draftOf("s")).toMatchObject({ text: "before  after", uploads: [{ name: "pasted.txt", size: 600 * 7 }] });
  drafts.keepPasted("s");
  expect(drafts.draftOf("s")).toMatchObject({ text: `before ${long} after`, uploads: [], pasted: null });
});
