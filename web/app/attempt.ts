// What a reader has done by a button, and how it ended, in a line.

import { useState } from "react";

import { words as table } from "./frame-words";
import { inWords } from "./pages/problems";
import { useLanguage } from "./settings";
import { useWords } from "./state";

interface Outcome {
  readonly text: string;
  readonly isFailure: boolean;
}

export function useAttempt(): readonly [Outcome, (act: () => Promise<string>) => Promise<void>] {
  const words = useWords(table);
  const language = useLanguage();
  const [outcome, setOutcome] = useState<Outcome>({ text: "", isFailure: false });
  const attempt = async (act: () => Promise<string>) => {
    setOutcome({ text: words.working, isFailure: false });
    try {
      setOutcome({ text: await act(), isFailure: false });
    } catch (error) {
      setOutcome({ text: inWords(error as Error, language), isFailure: true });
    }
  };
  return [outcome, attempt];
}
