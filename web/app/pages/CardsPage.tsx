// A page of cards: what they are, a form for a new one, and each.

import { Plus, RefreshCw } from "lucide-react";
import { type ReactNode } from "react";

import { useWords } from "../state";
import type { CardList } from "./card-list";
import { words as pageWords } from "./page-words";
import { StatusLine } from "./StatusLine";
import "./pages.css";

interface Props<T> {
  readonly cards: CardList<T>;
  readonly words: { readonly hint: string; readonly add: string; readonly none: string };
  readonly note?: ReactNode;
  readonly form: ReactNode;
  readonly children: (one: T) => ReactNode;
}

export function CardsPage<T>({ cards: { status, list, show, isAdding, setAdding }, words, note, form, children }: Props<T>) {
  const { refresh } = useWords(pageWords);
  return (
    <section className="page">
      <p className="faint">{words.hint}</p>
      <div className="page-bar">
        <button type="button" className="small" onClick={() => setAdding(!isAdding)} aria-expanded={isAdding}><Plus aria-hidden="true" />{words.add}</button>
        <button type="button" className="small" onClick={() => void show()}><RefreshCw aria-hidden="true" />{refresh}</button>
      </div>
      <StatusLine status={status} />
      {note}
      {isAdding && form}
      <ul className="cards" aria-busy={list === null}>
        {list?.map(children)}
        {list?.length === 0 && <li className="empty">{words.none}</li>}
      </ul>
    </section>
  );
}
