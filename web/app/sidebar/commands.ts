// The keys of the page and what they do.

import { writeStored, readStored } from "../browser-storage";
import { createStore } from "../store";

const KEPT = "gateway.single-keys";

/** Which of the two dialogs is open, and whether keys without a modifier count. */
export const commands = createStore<{ readonly open: "palette" | "keys" | null; readonly singleKeys: boolean }>({
  open: null, singleKeys: readStored(KEPT) !== "false",
});

// Keys without a modifier can be switched off (WCAG 2.1.4): speech input types them by mistake.
export function allowSingleKeys(singleKeys: boolean): void {
  commands.set({ singleKeys });
  writeStored(KEPT, String(singleKeys));
}

/** What a key does everywhere. `mod` is Ctrl, or Cmd on a Mac. */
export const KEYS = {
  palette: { key: "k", mod: true },
  newChat: { key: "o", mod: true, shift: true },
  temporaryChat: { key: "x", mod: true, shift: true },
  copyAnswer: { key: "c", mod: true, shift: true },
  copyCode: { key: "l", mod: true, shift: true },
  print: { key: "p", mod: true },
  toggleSidebar: { key: "s", mod: true, shift: true },
  toggleInspector: { key: "e", mod: true, shift: true },
  focusMessage: { key: "Escape", shift: true },
  previousChat: { key: "ArrowUp", alt: true },
  nextChat: { key: "ArrowDown", alt: true },
  focusSearch: { key: "/", isSingle: true },
  settings: { key: ",", mod: true },
  thisList: { key: "?", isSingle: true },
} as const satisfies Readonly<Record<string, Chord>>;

export type Command = keyof typeof KEYS;

/** Those that the reader has: who is shown no developer tools has no inspector to open. */
export const commandsOf = (isDeveloper: boolean): Command[] =>
  (Object.keys(KEYS) as Command[]).filter((name) => isDeveloper || name !== "toggleInspector");

export interface Chord {
  readonly key: string;
  readonly mod?: boolean;
  readonly shift?: boolean;
  readonly alt?: boolean;
  /** Without a modifier: not while the reader writes, nor where such keys are switched off. */
  readonly isSingle?: boolean;
}

interface Pressed {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
  readonly altKey: boolean;
}

// What was asked for by a key, if anything. `isWriting`: the focus is where letters are text.
export function commandOf(pressed: Pressed, { isWriting, singleKeys, isMac }: { isWriting: boolean; singleKeys: boolean; isMac: boolean }): Command | null {
  const mod = isMac ? pressed.metaKey : pressed.ctrlKey;
  const other = isMac ? pressed.ctrlKey : pressed.metaKey;
  for (const [name, chord] of Object.entries(KEYS) as [Command, Chord][]) {
    if (chord.isSingle === true) {
      if (pressed.key === chord.key && !mod && !other && !pressed.altKey && !isWriting && singleKeys) return name;
      continue;
    }
    if (pressed.key.toLowerCase() !== chord.key.toLowerCase() || other) continue;
    if (mod === (chord.mod ?? false) && pressed.shiftKey === (chord.shift ?? false) && pressed.altKey === (chord.alt ?? false)) return name;
  }
  return null;
}

const SIGNS: Readonly<Record<string, string>> = { ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc" };

// "Ctrl+Shift+O", or as a Mac shows it.
export function chordText({ key, mod, shift, alt }: Chord, isMac: boolean): string {
  const sign = SIGNS[key] ?? key.toUpperCase();
  const held = [mod && (isMac ? "⌘" : "Ctrl"), alt && (isMac ? "⌥" : "Alt"), shift && (isMac ? "⇧" : "Shift")].filter((each) => typeof each === "string");
  return [...held, sign].join(isMac ? "" : "+");
}

export function isMac(): boolean {
  return /mac|iphone|ipad/i.test(navigator.userAgent);
}
