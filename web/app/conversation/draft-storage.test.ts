import { beforeEach, expect, test } from "vitest";

import { endDraft, has, leaveDraft, storeDraft, storedDrafts } from "./draft-storage";

const said = (text: string, ...refs: string[]) => ({ text, files: refs.map((ref) => ({ ref, name: ref, mime: "text/plain", size: 1 })) });

beforeEach(() => {
  localStorage.clear();
  sessionStorage.clear();
});

test("what was written is there again, for each chat", () => {
  storeDraft("", said("新"), null);
  storeDraft("s_1", said("one", "ART-1"), null);
  expect(storedDrafts()).toEqual([["", said("新"), null], ["s_1", said("one", "ART-1"), null]]);
  endDraft("", null);
  expect(storedDrafts()).toEqual([["s_1", said("one", "ART-1"), null]]);
});

test("a tab beside another one keeps its own words, and has the other's on offer", () => {
  storeDraft("s", said("草稿A"), said("草稿B"));
  localStorage.setItem("gateway.draft.s", JSON.stringify(said("草稿B"))); // by the other one
  expect(storedDrafts()).toEqual([["s", said("草稿A"), said("草稿B")]]);
  endDraft("s", said("草稿B"));
  expect(storedDrafts()).toEqual([["s", said("草稿B"), null]]);
});

test("a tab that is closed leaves its words to the next one", () => {
  storeDraft("s", said("草稿A"), said("草稿B"));
  localStorage.setItem("gateway.draft.s", JSON.stringify(said("草稿B")));
  leaveDraft("s", said("草稿A"));
  sessionStorage.clear();
  expect(storedDrafts()).toEqual([["s", said("草稿B"), said("草稿A")]]);
});

test("nothing is offered that is there already", () => {
  expect(has(said("草稿A and more", "1", "2"), said("草稿A", "2"))).toBe(true);
  expect(has(said("草稿A", "1"), said("草稿A", "2"))).toBe(false);
  storeDraft("s", said("one and two"), said("two"));
  localStorage.setItem("gateway.draft.s", JSON.stringify(said("two")));
  expect(storedDrafts()).toEqual([["s", said("one and two"), null]]);
});

test("what is damaged or of another form is no draft", () => {
  for (const stored of ["{", "5", "null", '{"text":5,"files":{}}']) {
    localStorage.setItem("gateway.draft.s", stored);
    expect(storedDrafts()).toEqual([["s", said(""), null]]);
  }
});
