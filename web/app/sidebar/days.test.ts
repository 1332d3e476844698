import { describe, expect, test } from "vitest";

import { byDay } from "./days";
import { words } from "./sidebar-words";

const NOW = Date.UTC(2026, 10, 23, 20, 30); // a Monday
const english = { language: "en-GB", timeZone: "Europe/Berlin", now: NOW, words: words.en };
const at = (id: string, ...date: [number, number, number, number?, number?]) => ({ id, updated_at: Date.UTC(...date) });
const shape = (groups: ReturnType<typeof byDay>) => groups.map(({ heading, chats }) => [heading, chats.map(({ id }) => id).join("")]);

describe("chats by day", () => {
  test("the days of the last week have headings of their own, older ones that of their month", () => {
    const chats = [
      at("a", 2026, 10, 23, 20), at("b", 2026, 10, 23, 1), at("c", 2026, 10, 22, 12), at("d", 2026, 10, 17, 12),
      at("e", 2026, 10, 16, 12), at("f", 2026, 10, 1), at("g", 2026, 0, 5), at("h", 2025, 11, 31, 12),
    ];
    expect(shape(byDay(chats, english))).toEqual([
      ["Today", "ab"], ["Yesterday", "c"], ["Tuesday", "d"], ["November", "ef"], ["January", "g"], ["December 2025", "h"],
    ]);
  });

  test("a day begins at midnight of the reader's time zone", () => {
    const chats = [at("a", 2026, 10, 22, 23, 30)];
    expect(shape(byDay(chats, english))).toEqual([["Today", "a"]]);
    expect(shape(byDay(chats, { ...english, timeZone: "UTC" }))).toEqual([["Yesterday", "a"]]);
    expect(shape(byDay(chats, { ...english, timeZone: "Pacific/Auckland" }))).toEqual([["Yesterday", "a"]]);
  });

  test("headings are in the reader's language", () => {
    const chats = [at("a", 2026, 10, 23, 12), at("b", 2026, 10, 22, 12), at("c", 2026, 10, 20, 12), at("d", 2025, 9, 1, 12)];
    const headings = (language: "zh-Hans" | "zh-Hant") => byDay(chats, { ...english, language, words: words[language] }).map(({ heading }) => heading);
    expect(headings("zh-Hans")).toEqual(["今天", "昨天", "星期五", "2025年10月"]);
    expect(headings("zh-Hant")).toEqual(["今天", "昨天", "星期五", "2025年10月"]);
  });

  test("pinned chats come first, whatever their day", () => {
    const chats = [at("a", 2026, 10, 23, 12), { ...at("b", 2024, 1, 1), pinned: true }];
    expect(shape(byDay(chats, english))).toEqual([["Pinned", "b"], ["Today", "a"]]);
  });

  test("the change to summer time does not move a day", () => {
    const march = { ...english, now: Date.UTC(2026, 2, 29, 12) };
    expect(shape(byDay([at("a", 2026, 2, 29, 0, 30), at("b", 2026, 2, 28, 22, 30)], march))).toEqual([["Today", "a"], ["Yesterday", "b"]]);
  });

  test("a clock that is slow does not put the newest chat into the future", () => {
    expect(shape(byDay([at("a", 2026, 10, 25, 12), at("b", 2026, 10, 24, 12)], english))).toEqual([["Today", "a"], ["Yesterday", "b"]]);
  });

  test("no chats, no headings", () => {
    expect(byDay([], english)).toEqual([]);
  });
});
