// What stands in the place of the parts of an answer, or the blocks of a text, that are left out where there are very many.

import { useSpeech } from "./speech";

export const MOST = 400; // that are drawn at once: the first and the newest ones

interface Props {
  readonly count: number;
  /** All of them. */
  readonly of: number;
  readonly onMore: (more: number) => void;
}

export function LeftOut({ count, of, onMore }: Props) {
  const speech = useSpeech();
  const { words, fill } = speech;
  return (
    <p className="left-out">
      {count > MOST && <button type="button" className="small" onClick={() => onMore(MOST)}>{words.showMore}</button>}
      <button type="button" className="small" onClick={() => onMore(of)}>{fill(words.showAll, { count: speech.number(of) })}</button>
    </p>
  );
}
