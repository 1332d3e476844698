// One turn of the conversation.

import { memo } from "react";

import { useApp } from "../state";
import { AnswerView } from "./AnswerView";
import { isShownByCards } from "./MemoryCard";
import { QuestionView } from "./QuestionView";
import { useSpeech } from "./speech";
import { isWithdrawn } from "./withdrawn";

interface Props {
  readonly session: string;
  readonly id: string;
  readonly position: number;
  readonly count: number;
}

export const TurnView = memo(function TurnView({ session, id, position, count }: Props) {
  const { words } = useSpeech();
  const turn = useApp(({ conversation }) => conversation.turns.get(id));
  if (turn === undefined || isShownByCards(turn) || isWithdrawn(turn)) return null; // such as a title, which has no parts
  return (
    <article className="turn" data-turn={id} aria-label={turn.input.slice(0, 80) || words.answer} aria-posinset={position} aria-setsize={count} tabIndex={-1}>
      <h2 className="unseen">{count < 0 ? words.turn : `${words.turn} ${position}`}</h2>
      <QuestionView session={session} turn={turn} />
      <AnswerView session={session} turn={turn} />
    </article>
  );
});
