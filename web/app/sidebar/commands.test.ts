import { expect, test } from "vitest";

import { chordText, commandOf, KEYS } from "./commands";

const held = { ctrlKey: false, metaKey: false, shiftKey: false, altKey: false };
const pc = { isWriting: false, singleKeys: true, isMac: false };
const mac = { ...pc, isMac: true };

test("Ctrl is the key of a PC, Cmd that of a Mac", () => {
  expect(commandOf({ ...held, key: "k", ctrlKey: true }, pc)).toBe("palette");
  expect(commandOf({ ...held, key: "k", metaKey: true }, mac)).toBe("palette");
  expect(commandOf({ ...held, key: "k", ctrlKey: true }, mac)).toBeNull();
  expect(commandOf({ ...held, key: "O", ctrlKey: true, shiftKey: true }, pc)).toBe("newChat");
  expect(commandOf({ ...held, key: "o", ctrlKey: true }, pc)).toBeNull();
  expect([chordText(KEYS.newChat, false), chordText(KEYS.newChat, true)]).toEqual(["Ctrl+Shift+O", "⌘⇧O"]);
});

test("a key without a modifier is text where the reader writes, and nothing where it is switched off", () => {
  expect(commandOf({ ...held, key: "?", shiftKey: true }, pc)).toBe("thisList");
  expect(commandOf({ ...held, key: "?", shiftKey: true }, { ...pc, isWriting: true })).toBeNull();
  expect(commandOf({ ...held, key: "/" }, { ...pc, singleKeys: false })).toBeNull();
  expect(commandOf({ ...held, key: "k", ctrlKey: true }, { ...pc, isWriting: true, singleKeys: false })).toBe("palette");
});
