// What has just been done, in words, with a way to undo it where there is one.

import { announce } from "../state";
import { createStore } from "../store";

export interface Notice {
  readonly text: string;
  readonly isTrouble?: boolean;
  readonly undo?: () => void;
}

export const notice = createStore<{ readonly shown: Notice | null }>({ shown: null });

export function showNotice(shown: Notice | null): void {
  notice.set({ shown });
  if (shown) announce(shown.text);
}
