// What a page does, and what comes of it: one thing at a time, told in words.

import { useCallback, useRef, useState } from "react";

import { useLanguage } from "../settings";
import { inWords } from "./problems";

export interface StatusText {
  readonly text: string;
  readonly isTrouble: boolean;
  /** What takes it back. */
  readonly undo?: (() => void) | undefined;
}

const NOTHING: StatusText = { text: "", isTrouble: false };

export interface PageStatus {
  readonly status: StatusText;
  readonly report: (text: string, undo?: () => void) => void;
  /** Whether it worked. What went wrong is told; `act` may resolve to what is told of it. */
  readonly attempt: (act: () => Promise<string | undefined>) => Promise<boolean>;
}

export function usePageStatus(): PageStatus {
  const language = useLanguage();
  const [status, setStatus] = useState(NOTHING);
  const latest = useRef(NOTHING);
  const set = useCallback((next: StatusText) => {
    latest.current = next;
    setStatus(next);
  }, []);
  const report = useCallback((text: string, undo?: () => void) => set({ text, isTrouble: false, undo }), [set]);
  const attempt = useCallback(async (act: () => Promise<string | undefined>) => {
    const before = latest.current;
    try {
      const text = await act();
      // What has nothing to tell takes away what was told before it began, and nothing that came meanwhile.
      if (text !== undefined) set({ text, isTrouble: false });
      else if (latest.current === before) set(NOTHING);
      return true;
    } catch (error) {
      set({ text: inWords(error as Error, language), isTrouble: true });
      return false;
    }
  }, [language, set]);
  return { status, report, attempt };
}
