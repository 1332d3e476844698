import { expect, test } from "vitest";

import { hashOf, NEW_CHAT, placeOf } from "./page-address";

test.each([
  ["", NEW_CHAT], ["#s=ses_1", { ...NEW_CHAT, session: "ses_1" }], ["#s=a&t=b", { ...NEW_CHAT, session: "a", turn: "b" }],
  ["#p=memory", { ...NEW_CHAT, page: "memory" }], ["#s=a&p=skills", { ...NEW_CHAT, session: "a", page: "skills" }],
])("%j is a place, and the place has that address", (hash, place) => {
  expect(placeOf(hash)).toEqual(place);
  expect(hashOf(placeOf(hash))).toBe(hash);
});

test.each(["#s=../x", "#s=", "#t=b", "#p=nowhere", "#s=" + "a".repeat(65), "#%%%"])("%j names nothing: a new chat", (hash) => {
  expect(placeOf(hash)).toEqual(NEW_CHAT);
});
