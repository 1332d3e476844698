// Components as they might be: what is written shows what it would do to the prompt, until it is saved.

import type { api } from "@chat-gateway/client";
import { useId } from "react";

import { useLanguage } from "../../settings";
import { useWords } from "../../state";
import { localeOf } from "../locale-formats";
import { words as table } from "../page-words";
import type { Difference, PartChange } from "./difference";
import { Versions } from "./Versions";

/** Texts by the names of components. */
export type Edits = Readonly<Record<string, string>>;

interface Props {
  readonly components: readonly api.ComponentReport[];
  readonly edits: Edits;
  readonly onChange: (edits: Edits) => void;
  readonly onSaved: () => void;
}

export function EditFields({ components, edits, onChange, onSaved }: Props) {
  const { prompts: words } = useWords(table);
  const id = useId();
  return components.filter(({ name }) => name in edits).map((component) => [component, component.name, component.file] as const).map(([component, name, file]) => (
    <div key={name} className="edit">
      <div className="row">
        <label htmlFor={`${id}-${name}`}>{words.editOf} <code>{file}</code></label>
        <button type="button" className="small" onClick={() => onChange(Object.fromEntries(Object.entries(edits).filter(([each]) => each !== name)))}>
          {words.discard}
        </button>
      </div>
      <textarea id={`${id}-${name}`} className="code" rows={12} dir="auto" value={edits[name]} autoFocus
        onChange={(event) => onChange({ ...edits, [name]: event.target.value })} />
      <Versions component={component} text={edits[name] ?? ""} onTake={(text) => onChange({ ...edits, [name]: text })} onSaved={onSaved} />
    </div>
  ));
}

interface ChangesProps {
  readonly before: api.PromptPreview;
  readonly after: api.PromptPreview;
  readonly difference: Difference;
}

export function Changes({ before, after, difference: { changes, from, anew } }: ChangesProps) {
  const { prompts: words } = useWords(table);
  const locale = localeOf(useLanguage());
  const count = (value: number) => value.toLocaleString(locale);
  const size = (part: PartChange["before"]) => part === null ? "–" : count(part.tokens);
  if (changes.length === 0) return <p role="status">{words.noDifference}</p>;
  return (
    <section className="card" aria-label={words.difference} role="status">
      <h3>{words.difference} <small>{words.fromTo(count(before.tokens), count(after.tokens))}</small></h3>
      <div className="table-scroll">
        <table>
          <thead><tr>{[words.component, words.before, words.after].map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>
          <tbody>
            {changes.map(({ name, before: one, after: other }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{size(one)}</td>
                <td>{size(other)}{other?.truncated && <small className="trouble"> {words.cut(count(other.tokens_before))}</small>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p>{from === null ? words.cacheStays : words.cacheFrom(from, count(anew), count(after.tokens))}</p>
    </section>
  );
}
