// Two memories of which one can hold only: both with their times, and which one it is.

import type { api } from "@chat-gateway/client";
import { useId } from "react";

import { client, useWords } from "../../state";
import { useTime } from "../locale-formats";
import type { PageStatus } from "../page-status";
import { words as table } from "./verb-words";

interface Props {
  readonly pair: api.ContradictionItem;
  /** How many others wait behind it. */
  readonly others: number;
  readonly attempt: PageStatus["attempt"];
  readonly onAnswered: (text: string, undo: () => Promise<unknown>) => void;
  /** It was answered or changed elsewhere meanwhile. */
  readonly onStale: () => void;
}

type Answer = "earlier" | "later" | "both";
const ANSWERS: readonly Answer[] = ["earlier", "later", "both"];

export function Contradiction({ pair: { earlier, later }, others, attempt, onAnswered, onStale }: Props) {
  const { contradiction: words } = useWords(table);
  const time = useTime();
  const head = useId();
  const said = { earlier: useId(), later: useId() };
  const answer = async (which: Answer) => {
    const ids = { earlier_id: earlier.id, later_id: later.id };
    let undo = () => client.answerContradiction({ ...ids, answer: "undecided" }) as Promise<unknown>;
    const isDone = await attempt(async () => {
      const { changed } = await client.answerContradiction({ ...ids, answer: which });
      const wrong = changed.find(({ operation }) => operation === "replaced")?.memory;
      if (wrong) undo = () => client.restoreMemory(wrong.id, wrong.version - 1, wrong.version);
      return undefined;
    });
    if (isDone) onAnswered(words.done[which], undo);
    else onStale();
  };
  return (
    <section className="card contradiction" aria-labelledby={head}>
      <h2 id={head}>{words.title}</h2>
      <ul>
        {([["earlier", earlier], ["later", later]] as const).map(([which, memory]) => (
          <li key={which} id={said[which]}>
            <span className="gist" dir="auto">{memory.content}</span>
            <small>{words.saidAt[which](time(memory.updated_at))}</small>
          </li>
        ))}
      </ul>
      <div className="buttons">
        {ANSWERS.map((which) => (
          <button
            key={which} type="button" className="small" title={words.hints[which]}
            aria-describedby={which === "both" ? `${said.earlier} ${said.later}` : said[which]} onClick={() => void answer(which)}
          >{words.answers[which]}</button>
        ))}
        {others > 0 && <small>{words.others(others)}</small>}
      </div>
    </section>
  );
}
