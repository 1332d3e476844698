// Keys that belong to an input method: while a Chinese word is being composed, Enter chooses it and Escape leaves it.

import type { KeyboardEvent as ReactKeyboardEvent } from "react";

import { settings } from "./settings";

// Such keys reach no field, form, dialog or shortcut of the page, whichever they are. Called once.
export function keepInputMethodsApart(): void {
  addEventListener("keydown", (event) => {
    // Safari ends the composition before the Enter that chose a word; its `keyCode` is the only sign.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    if (!event.isComposing && event.keyCode !== 229) return;
    event.stopImmediatePropagation();
    if (event.key === "Enter" && !event.isComposing) event.preventDefault(); // it would send the form
  }, { capture: true });
}

// A keyboard on glass has no other key for a new line.
export const enterIsNewLine = (): boolean => matchMedia("(pointer: coarse)").matches;

// Whether a key sends what is written.
export function sends(event: ReactKeyboardEvent): boolean {
  if (event.key !== "Enter" || event.shiftKey) return false;
  return event.ctrlKey || event.metaKey || (settings.get().enterSends && !enterIsNewLine());
}
