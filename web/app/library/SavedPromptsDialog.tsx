// The prompts and personas that the reader may use: made, changed and removed here, by those whose they are.

import { Pencil, Plus, Trash2 } from "lucide-react";
import { type SyntheticEvent, useEffect, useState } from "react";

import { caller, useModels } from "../caller";
import { Dialog } from "../Dialog";
import { folderOf, readFolders, useFolders } from "../folders/folders";
import { inWords } from "../pages/problems";
import { useLanguage } from "../settings";
import { useWords } from "../state";
import { useStore } from "../store";
import { changePrompt, readSavedPrompts, removePrompt, savePrompt, type SavedPrompt, usePersonas, usePrompts } from "./saved-prompts";
import { words as table } from "./library-words";
import { readServerPrompts } from "./server-prompts";
import { ServerPrompts } from "./ServerPrompts";
import "./library.css";

type Kind = SavedPrompt["kind"];
const FOR_ALL = "all";

export function SavedPromptsDialog({ onClose }: { readonly onClose: () => void }) {
  const words = useWords(table);
  const [edited, edit] = useState<{ readonly kind: Kind; readonly prompt: SavedPrompt | null } | null>(null);
  const prompts = usePrompts();
  const personas = usePersonas();
  useEffect(() => {
    void readSavedPrompts(true);
    void readServerPrompts(true);
    void readFolders().catch(() => undefined); // who writes where is told by what is known
  }, []);
  return (
    <Dialog title={words.title} className="library" onClose={onClose}>
      {edited ? <Editor key={edited.prompt?.id} kind={edited.kind} prompt={edited.prompt} onClose={() => edit(null)} /> : (
        <>
          <p className="faint">{words.hint}</p>
          <Group kind="prompt" prompts={prompts} onEdit={(prompt) => edit({ kind: "prompt", prompt })} />
          <ServerPrompts />
          <Group kind="persona" prompts={personas} onEdit={(prompt) => edit({ kind: "persona", prompt })} />
        </>
      )}
    </Dialog>
  );
}

interface GroupProps {
  readonly kind: Kind;
  readonly prompts: readonly SavedPrompt[];
  /** null: a new one. */
  readonly onEdit: (prompt: SavedPrompt | null) => void;
}

function Group({ kind, prompts, onEdit }: GroupProps) {
  const words = useWords(table);
  const language = useLanguage();
  const isAdmin = useStore(caller, ({ me }) => me?.is_admin === true);
  const [asked, ask] = useState<string | null>(null);
  const [trouble, setTrouble] = useState("");
  useFolders();
  const mayChange = (each: SavedPrompt) => each.for_all ? isAdmin : each.project_id === undefined || folderOf(each.project_id)?.role !== "reader";
  const remove = async (each: SavedPrompt) => {
    try {
      await removePrompt(each);
      setTrouble("");
    } catch (error) {
      setTrouble(inWords(error as Error, language));
    }
    ask(null);
  };
  return (
    <section aria-label={kind === "prompt" ? words.prompts : words.personas}>
      <div className="library-head">
        <h3>{kind === "prompt" ? words.prompts : words.personas}</h3>
        <button type="button" className="small" onClick={() => onEdit(null)}><Plus aria-hidden />{kind === "prompt" ? words.newPrompt : words.newPersona}</button>
      </div>
      {prompts.length === 0 && <p className="faint">{words.none}</p>}
      <ul>
        {prompts.map((each) => (
          <li key={each.id}>
            <span className="library-row"><b dir="auto">{kind === "prompt" ? `/${each.name}` : each.name}</b><small dir="auto">{whose(each, words)}{each.title ?? each.text}</small></span>
            {asked === each.id ? (
              <>
                <button type="button" className="small dangerous" onClick={() => void remove(each)}>{words.deleteNow}</button>
                <button type="button" className="small" onClick={() => ask(null)}>{words.keep}</button>
              </>
            ) : mayChange(each) && (
              <>
                <button type="button" className="icon" aria-label={words.edit(each.name)} title={words.edit(each.name)} onClick={() => onEdit(each)}><Pencil /></button>
                <button type="button" className="icon" aria-label={words.delete(each.name)} title={words.delete(each.name)} onClick={() => ask(each.id)}><Trash2 /></button>
              </>
            )}
          </li>
        ))}
      </ul>
      <p role="alert" className="trouble">{trouble}</p>
    </section>
  );
}

function whose({ for_all: isOfAll, project_id: project }: SavedPrompt, words: { readonly ofAll: string }): string {
  const name = isOfAll ? words.ofAll : folderOf(project)?.name;
  return name === undefined ? "" : `${name} · `;
}

interface EditorProps {
  readonly kind: Kind;
  readonly prompt: SavedPrompt | null;
  readonly onClose: () => void;
}

function Editor({ kind, prompt, onClose }: EditorProps) {
  const words = useWords(table);
  const language = useLanguage();
  const models = useModels();
  const isAdmin = useStore(caller, ({ me }) => me?.is_admin === true);
  const places = useFolders().filter(({ role }) => role !== "reader");
  const [name, setName] = useState(prompt?.name ?? "");
  const [title, setTitle] = useState(prompt?.title ?? "");
  const [text, setText] = useState(prompt?.text ?? "");
  const [model, setModel] = useState(prompt?.model ?? "");
  const [place, setPlace] = useState("");
  const [trouble, setTrouble] = useState("");
  const isPrompt = kind === "prompt";
  const save = async (event: SyntheticEvent) => {
    event.preventDefault();
    const fields = { name: name.trim().replace(/^\//, ""), title: title.trim(), text, model };
    try {
      if (prompt) await changePrompt(prompt, fields);
      else await savePrompt({ kind, ...fields, ...(place === "" || place === FOR_ALL ? {} : { project_id: place }) }, place === FOR_ALL);
      onClose();
    } catch (error) {
      setTrouble(inWords(error as Error, language));
    }
  };
  return (
    <form onSubmit={(event) => void save(event)}>
      <label className="field">{words.name}
        <input type="text" dir="auto" value={name} maxLength={isPrompt ? 65 : 100} required data-first aria-describedby={isPrompt ? "prompt-name" : undefined} onChange={({ target }) => setName(target.value)} />
        {isPrompt && <small id="prompt-name" className="faint">{words.nameHint}</small>}
      </label>
      <label className="field">{words.about}
        <input type="text" dir="auto" value={title} maxLength={200} onChange={({ target }) => setTitle(target.value)} />
      </label>
      <label className="field">{isPrompt ? words.text : words.instructions}
        <textarea className="instructions" rows={6} dir="auto" value={text} maxLength={32_768} required aria-describedby={isPrompt ? "prompt-fields" : undefined} onChange={({ target }) => setText(target.value)} />
        {isPrompt && <small id="prompt-fields" className="faint">{words.fieldsHint}</small>}
      </label>
      {!isPrompt && models.length > 1 && (
        <label className="field">{words.model}
          <select value={model} onChange={({ target }) => setModel(target.value)}>
            <option value="">{words.anyModel}</option>
            {models.map((each) => <option key={each}>{each}</option>)}
          </select>
        </label>
      )}
      {!prompt && (places.length > 0 || isAdmin) && (
        <label className="field">{words.forWhom}
          <select value={place} onChange={({ target }) => setPlace(target.value)}>
            <option value="">{words.forMe}</option>
            {places.map((each) => <option key={each.id} value={each.id}>{words.forFolder(each.name)}</option>)}
            {isAdmin && <option value={FOR_ALL}>{words.forAll}</option>}
          </select>
        </label>
      )}
      <p role="alert" className="trouble">{trouble}</p>
      <div className="buttons">
        <button type="submit" className="primary">{words.save}</button>
        <button type="button" className="small" onClick={onClose}>{words.cancel}</button>
      </div>
    </form>
  );
}

