// What the Enter key means where text is written.

import type { KeyboardEvent } from "react";

// Whether a key belongs to an input method: while a Chinese word is being composed, Enter chooses it.
export function isComposing({ nativeEvent }: { readonly nativeEvent: globalThis.KeyboardEvent }): boolean {
  // Safari ends the composition before that Enter; its `keyCode` is the only sign.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  return nativeEvent.isComposing || nativeEvent.keyCode === 229;
}

// A keyboard on glass has no other key for a new line.
export const enterIsNewLine = (): boolean => matchMedia("(pointer: coarse)").matches;

// Whether a key sends what is written.
export function sends(event: KeyboardEvent): boolean {
  if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return false;
  return event.ctrlKey || event.metaKey || !enterIsNewLine();
}
