// A new chat: a greeting and a few messages to begin with, the operator's where there are some.

import { inLanguage, pageSettings } from "../page-settings";
import { useLanguage } from "../settings";
import { useApp, useWords } from "../state";
import { send } from "./outbox";
import { words as table } from "./welcome-words";

export function Welcome({ session }: { readonly session: string | null }) {
  const words = useWords(table);
  const language = useLanguage();
  const isDemo = useApp(({ health }) => health?.demo === true);
  const isKnown = useApp(({ health }) => health !== null); // which of the two sets is the right one
  const own = isDemo ? [words.demo1, words.demo2, words.demo3, words.demo4, words.demo5]
    : [words.suggestion1, words.suggestion2, words.suggestion3, words.suggestion4];
  const suggestions = inLanguage(pageSettings.suggestions, language) ?? (isKnown ? own : []);
  return (
    <div className="scroll">
      <div id="welcome" className="welcome">
        {pageSettings.logo && <img className="logo" src="./logo" alt="" />}
        <h2 dir="auto">{inLanguage(pageSettings.greeting, language) ?? words.greeting}</h2>
        <p>{isDemo && words.demoHint}</p>
        <div className="examples">
          {suggestions.map((text) => <button key={text} type="button" className="example" dir="auto" onClick={() => send(session, text, [])}>{text}</button>)}
        </div>
      </div>
    </div>
  );
}
