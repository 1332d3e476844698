// The prompt: its components with their limits and what was cut, and the text as the model is sent it.

import type { api } from "@chat-gateway/client";
import { useCallback, useEffect, useState } from "react";

import { caller } from "../caller";
import { inARow } from "../language";
import { useLanguage } from "../settings";
import { chats } from "../sidebar/chats";
import { words as chatWords } from "../sidebar/sidebar-words";
import { client, useWords } from "../state";
import { useStore } from "../store";
import { localeOf } from "./locale-formats";
import { differenceOf } from "./prompts/difference";
import { words as versionTable } from "./prompts/version-words";
import { Changes, EditFields, type Edits } from "./prompts/Edits";
import { type PageStatus, usePageStatus } from "./page-status";
import { StatusLine } from "./StatusLine";
import { words as table } from "./page-words";
import "./pages.css";

const DIGEST = 12; // characters of a digest that are shown; all of it is in the title

export default function PromptsPage() {
  const { prompts: words, ...common } = useWords(table);
  const versionWords = useWords(versionTable);
  const language = useLanguage();
  const { status, attempt } = usePageStatus();
  const [report, setReport] = useState<api.PromptReport | null>(null);
  const read = useCallback(() => attempt(async () => {
    setReport(await client.prompts());
    return undefined;
  }), [attempt]);
  useEffect(() => void read(), [read]);
  const count = (value: number) => value.toLocaleString(localeOf(language));
  const [edits, setEdits] = useState<Edits>({});
  const mayEdit = useStore(caller, ({ me }) => me?.is_operator === true);
  const columns = [words.component, words.layer, words.file, words.tokens, words.limits, words.priority, words.digest];
  return (
    <section className="page">
      <p className="faint">{inARow(words.hint, words.estimated)}</p>
      <StatusLine status={status} />
      {report && <Warnings warnings={report.warnings} title={common.warnings} />}
      {report && (
        <>
          <h2>{words.components} <small>{words.total(count(report.tokens))} · {words.prefix} <Digest value={report.prefix_hash} /></small></h2>
          <div className="table-scroll" tabIndex={0} role="region" aria-label={words.components}>
            <table>
              <thead>
                <tr>{columns.map((name) => <th key={name} scope="col">{name}</th>)}{mayEdit && <th scope="col"><span className="unseen">{words.edit}</span></th>}</tr>
              </thead>
              <tbody>
                {report.components.map((each) => (
                  <tr key={each.name}>
                    <th scope="row">{each.name}</th>
                    <td>{each.layer}</td>
                    <td><code>{each.file}</code>{each.source === "default" && <small> {words.byDefault}</small>}{each.source === "edited" && <small> {versionWords.edited}</small>}</td>
                    <td>{count(each.tokens)}{each.truncated && <small className="trouble"> {words.cut(count(each.tokens_before))}</small>}</td>
                    <td>{each.never_cut ? words.neverCut : words.range(count(each.min_tokens), count(each.max_tokens))}</td>
                    <td>{each.priority}</td>
                    <td><Digest value={each.digest} /></td>
                    {mayEdit && (
                      <td><button type="button" className="small" disabled={each.name in edits} aria-label={words.editOfFile(each.file)}
                        onClick={() => setEdits({ ...edits, [each.name]: each.text })}>{words.edit}</button></td>
                    )}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
      <PreviewOfPrompt attempt={attempt} components={report?.components ?? []} edits={edits} onEdit={setEdits} onSaved={() => void read()} />
    </section>
  );
}

interface PreviewProps extends Pick<PageStatus, "attempt"> {
  readonly components: readonly api.ComponentReport[];
  readonly edits: Edits;
  readonly onEdit: (edits: Edits) => void;
  readonly onSaved: () => void;
}

function PreviewOfPrompt({ attempt, components, edits, onEdit, onSaved }: PreviewProps) {
  const { prompts: words, ...common } = useWords(table);
  const { untitled } = useWords(chatWords);
  const language = useLanguage();
  const known = useStore(chats.store, (state) => state.chats);
  const [session, setSession] = useState("");
  const [message, setMessage] = useState("");
  const [instructions, setInstructions] = useState("");
  const [preview, setPreview] = useState<api.PromptPreview | null>(null);
  const [before, setBefore] = useState<api.PromptPreview | null>(null); // without the edits, where there are any
  const show = useCallback((query: api.PreviewQuery, texts: Edits) => attempt(async () => {
    const isEdited = Object.keys(texts).length > 0;
    const [now, edited] = await Promise.all([client.promptPreview(query), isEdited ? client.previewEdits({ ...query, edits: texts }) : null]);
    setPreview(edited ?? now);
    setBefore(edited && now);
    return undefined;
  }), [attempt]);
  useEffect(() => void show({}, {}), [show]);
  const count = (value: number) => value.toLocaleString(localeOf(language));
  const given = (name: string, value: string) => value.trim() === "" ? {} : { [name]: value };
  return (
    <>
      <h2>{words.preview} {preview && <small>{words.total(count(preview.tokens))} · {words.prefix} <Digest value={preview.prefix_hash} /></small>}</h2>
      <form className="page-form" onSubmit={(event) => {
        event.preventDefault();
        void show({ ...given("session_id", session), ...given("message", message), ...given("instructions", instructions) }, edits);
      }}>
        <EditFields components={components} edits={edits} onChange={onEdit} onSaved={onSaved} />
        <label>{words.session} <select value={session} onChange={(event) => setSession(event.target.value)}>
          <option value="">{words.newSession}</option>
          {known.map(({ id, title }) => <option key={id} value={id}>{title ?? untitled}</option>)}
        </select></label>
        <label>{words.message} <input type="text" maxLength={8000} value={message} placeholder={words.messageHint} onChange={(event) => setMessage(event.target.value)} /></label>
        <label>{words.instructions} <textarea rows={2} maxLength={8000} value={instructions} onChange={(event) => setInstructions(event.target.value)} /></label>
        <div className="buttons"><button type="submit" className="primary">{words.show}</button></div>
      </form>
      {preview && before && <Changes before={before} after={preview} difference={differenceOf(before, preview)} />}
      {preview && (
        <>
          <Warnings warnings={preview.warnings} title={common.warnings} />
          {preview.layers.map((layer, at) => (
            <details key={`${layer.layer}-${at}`} className="card" open={at === 0}>
              <summary>{layer.layer} <small>{layer.parts.map(({ name, tokens, truncated, tokens_before: before }) => `${name} ${count(tokens)}${truncated ? ` (${words.cut(count(before))})` : ""}`).join(" · ")}</small></summary>
              <pre className="artifact-text" tabIndex={0} aria-label={layer.layer} dir="auto">{layer.text}</pre>
            </details>
          ))}
          {preview.retrieved !== undefined && (
            <details className="card" open>
              <summary>{words.retrieved}</summary>
              <pre className="artifact-text" tabIndex={0} aria-label={words.retrieved} dir="auto">{preview.retrieved}</pre>
            </details>
          )}
          <p className="faint">{words.tools}: {preview.tools.length > 0 ? preview.tools.join(", ") : words.noTools}</p>
        </>
      )}
    </>
  );
}

function Digest({ value }: { readonly value: string }) {
  return <code title={value}>{value.slice(0, DIGEST)}</code>;
}

function Warnings({ warnings, title }: { readonly warnings: readonly string[]; readonly title: string }) {
  if (warnings.length === 0) return null;
  return (
    <section className="page-note" aria-label={title}>
      <ul>{warnings.map((warning) => <li key={warning} className="trouble" dir="auto">{warning}</li>)}</ul>
    </section>
  );
}
