// The prompts that fit what was typed behind a slash: those that are saved, and those of MCP servers. The focus stays in the field: arrow keys choose, Enter and Tab
// take, Escape closes.

import { type RefObject, useEffect, useId, useMemo, useRef, useState } from "react";

import { best } from "../sidebar/fuzzy";
import { useWords } from "../state";
import { useStore } from "../store";
import { type Asked, FillDialog } from "./FillDialog";
import { library } from "./library";
import { fieldsOf, filled, readSavedPrompts, type SavedPrompt, savedPrompts, usePrompts } from "./saved-prompts";
import { words as table } from "./library-words";
import { askedOf, readServerPrompts, type ServerPrompt, useServerPrompts } from "./server-prompts";
import "./library.css";

const MOST = 12; // that are shown

interface Props {
  readonly typed: string;
  readonly box: RefObject<HTMLTextAreaElement | null>;
  readonly onWrite: (text: string) => void;
}

interface Choice {
  readonly key: string;
  readonly name: string;
  readonly about: string;
  /** What it is found by, beside its name. */
  readonly words: string;
  /** What it says, or what is asked for before. */
  readonly asked: Asked | string;
}

const ofSaved = ({ id, name, title, text }: SavedPrompt): Choice => {
  const fields = fieldsOf(text);
  const asked = { name, fields: fields.map((each) => ({ name: each })), fill: (values: Readonly<Record<string, string>>) => filled(text, values) };
  return { key: id, name, about: title ?? text, words: title ?? "", asked: fields.length > 0 ? asked : text };
};

const ofServer = (prompt: ServerPrompt): Choice => {
  const { server, name, title, description } = prompt;
  const about = [server, title ?? description].filter(Boolean).join(" · ");
  return { key: `${server}/${name}`, name, about, words: `${server} ${title ?? ""}`, asked: askedOf(prompt) };
};

export function SlashList({ typed, box, onWrite }: Props) {
  const words = useWords(table);
  const saved = usePrompts();
  const { all: offered } = useServerPrompts();
  const choices = useMemo(() => [...saved.map(ofSaved), ...offered.map(ofServer)], [saved, offered]);
  const isKnown = useStore(savedPrompts, ({ all }) => all !== null);
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const [closedAt, setClosedAt] = useState<string | null>(null);
  const [pointed, point] = useState({ typed: "", at: 0 }); // with other words the first one is chosen again
  const [asked, ask] = useState<Asked | null>(null);
  useEffect(() => {
    void readSavedPrompts();
    void readServerPrompts();
  }, []);
  const fitting = best(choices, typed, ({ name, words: more }) => `${name} ${more}`).slice(0, MOST).map(({ choice }) => choice);
  // Behind the prompts the way to all of them; alone only where nothing was typed yet.
  const count = fitting.length + 1;
  const isOpen = isKnown && asked === null && closedAt !== typed && (fitting.length > 0 || typed === "");
  const chosen = pointed.typed === typed ? Math.min(pointed.at, count - 1) : 0;
  const setAt = (at: number) => point({ typed, at });
  const take = (place: number) => {
    const choice = fitting[place];
    box.current?.focus(); // to which a dialog gives the focus back
    if (choice === undefined) {
      onWrite("");
      library.set({ isOpen: true });
    } else if (typeof choice.asked === "string") onWrite(choice.asked);
    else ask(choice.asked);
  };
  const latest = useRef({ take, setAt });
  useEffect(() => {
    latest.current = { take, setAt };
  });
  useEffect(() => {
    const field = box.current;
    if (!field || !isOpen) return undefined;
    // At the field itself: what is done here is not seen by what the keys do elsewhere.
    const press = (event: KeyboardEvent) => {
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- as in `composing.ts`
      if (event.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey || event.altKey) return;
      const to = { ArrowDown: chosen + 1, ArrowUp: chosen - 1 }[event.key];
      if (to !== undefined) latest.current.setAt((to + count) % count);
      else if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey) latest.current.take(chosen);
      else if (event.key === "Escape") setClosedAt(typed);
      else return;
      event.preventDefault();
      event.stopPropagation();
    };
    field.addEventListener("keydown", press);
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-controls", id);
    field.setAttribute("aria-activedescendant", `${id}-${chosen}`);
    return () => {
      field.removeEventListener("keydown", press);
      for (const each of ["aria-autocomplete", "aria-controls", "aria-activedescendant"]) field.removeAttribute(each);
    };
  }, [box, isOpen, chosen, count, typed, id]);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  if (asked) {
    return (
      <FillDialog asked={asked} onClose={() => {
        ask(null);
        setClosedAt(typed);
      }} onDone={(text) => {
        onWrite(text);
        box.current?.focus();
      }} />
    );
  }
  if (!isOpen) return null;
  return (
    <div className="slash-list">
      <p className="unseen" role="status">{words.found(fitting.length)}</p>
      <ul ref={list} id={id} role="listbox" aria-label={words.list}>
        {fitting.map((each, place) => (
          <li key={each.key} id={`${id}-${place}`} role="option" aria-selected={place === chosen}
            onPointerMove={() => setAt(place)} onMouseDown={(event) => event.preventDefault()} onClick={() => take(place)}>
            <b dir="auto">/{each.name}</b><span dir="auto">{each.about}</span>
          </li>
        ))}
        <li id={`${id}-${fitting.length}`} role="option" aria-selected={chosen === fitting.length} className="manage"
          onPointerMove={() => setAt(fitting.length)} onMouseDown={(event) => event.preventDefault()} onClick={() => take(fitting.length)}>
          {fitting.length === 0 ? words.create : words.manage}
        </li>
      </ul>
    </div>
  );
}
