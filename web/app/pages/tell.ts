// What a page does, and what comes of it: one thing at a time, told in words.

import { useCallback, useState } from "react";

import { useLanguage } from "../settings";
import { inWords } from "./problems";

export interface Told {
  readonly text: string;
  readonly isTrouble: boolean;
}

const NOTHING: Told = { text: "", isTrouble: false };

export interface Telling {
  readonly told: Told;
  readonly tell: (text: string) => void;
  /** Whether it worked. What went wrong is told; `act` may resolve to what is told of it. */
  readonly attempt: (act: () => Promise<string | undefined>) => Promise<boolean>;
}

export function useTelling(): Telling {
  const language = useLanguage();
  const [told, setTold] = useState(NOTHING);
  const tell = useCallback((text: string) => setTold({ text, isTrouble: false }), []);
  const attempt = useCallback(async (act: () => Promise<string | undefined>) => {
    try {
      setTold({ text: await act() ?? "", isTrouble: false });
      return true;
    } catch (error) {
      setTold({ text: inWords(error as Error, language), isTrouble: true });
      return false;
    }
  }, [language]);
  return { told, tell, attempt };
}
