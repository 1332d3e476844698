// The chats in a file of another product: which of them are imported, how far that is, and what came of it.

import { useEffect, useId, useRef, useState } from "react";

import { Dialog } from "../Dialog";
import { useTime } from "../pages/locale-formats";
import { inWords } from "../pages/problems";
import { useLanguage } from "../settings";
import { chats } from "../sidebar/chats";
import { useWords } from "../state";
import { type ForeignChat, importForeign, ranges } from "./foreign-chats";
import { words as table } from "./import-words";
import "./importing.css";

const MOST = 500; // rows that are drawn; the others are found by their titles
const MAX_ONLY = 8_000; // characters of an address, as the server takes them
const SHOWN_REASONS = 50;

interface Props {
  readonly file: File;
  readonly onClose: () => void;
}

export function ImportDialog({ file, onClose }: Props) {
  const words = useWords(table);
  const language = useLanguage();
  const [found, setFound] = useState<readonly ForeignChat[]>([]);
  const [step, setStep] = useState<"looking" | "choosing" | "importing" | "done">("looking");
  const [chosen, choose] = useState<ReadonlySet<number>>(new Set());
  const [done, setDone] = useState<readonly ForeignChat[]>([]);
  const [trouble, setTrouble] = useState("");
  const ending = useRef(new AbortController());
  useEffect(() => {
    const mine = ending.current = new AbortController();
    const all: ForeignChat[] = [];
    importForeign(file, { preview: true, onChat: (chat) => all.push(chat), signal: mine.signal }).then(() => {
      setFound(all);
      choose(new Set(all.filter(({ state }) => state === "new").map(({ number }) => number)));
      setStep("choosing");
    }, (error: unknown) => {
      if (mine.signal.aborted) return;
      setTrouble(inWords(error as Error, language));
      setStep("done");
    });
    return () => mine.abort();
  }, [file, language]);
  const run = async () => {
    setStep("importing");
    const came: ForeignChat[] = [];
    const every = chosen.size === found.length ? undefined : ranges(chosen);
    const parts = every === undefined ? [undefined] : pieces(every);
    try {
      for (const only of parts) {
        await importForeign(file, { ...(only === undefined ? {} : { only }), signal: ending.current.signal, onChat: (chat) => {
          came.push(chat);
          setDone([...came]);
        } });
      }
    } catch (error) {
      if (!ending.current.signal.aborted) setTrouble(inWords(error as Error, language));
    }
    await chats.refresh();
    setStep("done");
  };
  const imported = done.filter(({ state }) => state === "imported");
  const unread = [...found.filter(({ state }) => state === "refused"), ...done.filter(({ state, number }) => state === "refused" && found.every((each) => each.number !== number || each.state !== "refused"))];
  return (
    <Dialog title={words.title} className="importing" onClose={onClose}>
      {step === "looking" && <p role="status">{words.looking}</p>}
      {step === "choosing" && <Choice found={found} chosen={chosen} onChoose={choose} onImport={() => void run()} onClose={onClose} />}
      {step === "importing" && (
        <>
          <p role="status">{words.importing(done.length, chosen.size)}</p>
          <progress max={Math.max(1, chosen.size)} value={done.length} aria-label={words.title} />
        </>
      )}
      {step === "done" && trouble === "" && (
        <p role="status">{words.done(imported.length)}{imported.some(({ left_out: count = 0 }) => count > 0) && ` ${words.leftOut}`}</p>
      )}
      {trouble !== "" && <p role="alert" className="trouble">{trouble}</p>}
      {(step === "done" || step === "choosing") && unread.length > 0 && <Unread chats={unread} />}
      {step === "done" && <div className="buttons"><button type="button" className="primary" data-first onClick={onClose}>{words.close}</button></div>}
    </Dialog>
  );
}

interface ChoiceProps {
  readonly found: readonly ForeignChat[];
  readonly chosen: ReadonlySet<number>;
  readonly onChoose: (chosen: ReadonlySet<number>) => void;
  readonly onImport: () => void;
  readonly onClose: () => void;
}

function Choice({ found, chosen, onChoose, onImport, onClose }: ChoiceProps) {
  const words = useWords(table);
  const time = useTime();
  const id = useId();
  const [query, setQuery] = useState("");
  const known = found.filter(({ state }) => state !== "refused");
  const there = known.filter(({ state }) => state === "there").length;
  const fitting = known.filter(({ title = "" }) => title.toLowerCase().includes(query.trim().toLowerCase()));
  const open = fitting.filter(({ state }) => state === "new");
  const isAll = open.length > 0 && open.every(({ number }) => chosen.has(number));
  const toggle = (numbers: readonly number[], isChosen: boolean) => {
    const next = new Set(chosen);
    for (const each of numbers) if (isChosen) next.add(each); else next.delete(each);
    onChoose(next);
  };
  return (
    <form onSubmit={(event) => {
      event.preventDefault();
      if (chosen.size > 0) onImport();
    }}>
      <p className="faint">{words.hint}{there > 0 && ` ${words.skipped(there)}`}</p>
      {known.length > 12 && <input type="search" value={query} aria-label={words.find} placeholder={words.find} onChange={({ target }) => setQuery(target.value)} />}
      <button type="button" className="small quiet" disabled={open.length === 0} onClick={() => toggle(open.map(({ number }) => number), !isAll)}>{isAll ? words.none : words.all}</button>
      <ul className="import-list" aria-label={words.title}>
        {fitting.slice(0, MOST).map((each) => (
          <li key={each.number}>
            <label className="check">
              <input type="checkbox" id={`${id}-${each.number}`} checked={chosen.has(each.number)} disabled={each.state === "there"}
                onChange={({ target }) => toggle([each.number], target.checked)} />
              <span><span dir="auto">{each.title ?? words.untitled}</span>
                <small>{[each.updated_at !== undefined && time(each.updated_at), words.messages(each.messages ?? 0), each.state === "there" && words.there].filter(Boolean).join(" · ")}</small></span>
            </label>
          </li>
        ))}
        {fitting.length > MOST && <li className="faint">{words.more(fitting.length - MOST)}</li>}
      </ul>
      <div className="buttons">
        <button type="submit" className="primary" disabled={chosen.size === 0}>{chosen.size === 0 ? words.nothing : words.chosen(chosen.size)}</button>
        <button type="button" className="small" onClick={onClose}>{words.cancel}</button>
      </div>
    </form>
  );
}

function Unread({ chats: unread }: { readonly chats: readonly ForeignChat[] }) {
  const words = useWords(table);
  return (
    <section aria-label={words.refused(unread.length)}>
      <p>{words.refused(unread.length)}</p>
      <ul className="import-reasons">
        {unread.slice(0, SHOWN_REASONS).map(({ number, title, reason }) => <li key={number}><b dir="auto">{title ?? words.ofFile(number)}</b>: {reason}</li>)}
        {unread.length > SHOWN_REASONS && <li>{words.more(unread.length - SHOWN_REASONS)}</li>}
      </ul>
    </section>
  );
}

// Ranges in as many addresses as they need.
function pieces(only: string): string[] {
  const found: string[] = [];
  for (const range of only.split(",")) {
    const last = found.at(-1);
    if (last === undefined || last.length + range.length + 1 > MAX_ONLY) found.push(range);
    else found[found.length - 1] = `${last},${range}`;
  }
  return found;
}
