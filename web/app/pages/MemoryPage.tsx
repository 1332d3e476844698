// What is remembered across chats: a search, a filter, a form for something new, and the way out of here.

import type { api } from "@chat-gateway/client";
import { Download, Plus, Upload } from "lucide-react";
import { useCallback, useEffect, useRef, useState } from "react";

import { client, useWords } from "../state";
import { saveFile, completeExport } from "../downloads";
import { Deleted } from "./memory/Deleted";
import { MemoryForm } from "./memory/MemoryForm";
import { MemoryRow } from "./memory/MemoryRow";
import { words as verbTable } from "./memory/verb-words";
import { Profiles } from "./memory/Profiles";
import { usePageStatus } from "./page-status";
import { StatusLine } from "./StatusLine";
import { words as table } from "./page-words";
import "./pages.css";

const PAGE = 30;
const TYPING_MS = 200;
const WHICHES = {
  all: {}, toConfirm: { quarantined: true }, pinned: { pinned: true }, suppressed: { status: "suppressed" }, frozen: { status: "frozen" },
  replaced: { status: "replaced" }, deleted: { deleted: true },
} as const satisfies Readonly<Record<string, api.MemoriesQuery>>;
type Which = keyof typeof WHICHES;

interface List {
  readonly memories: readonly api.MemoryItem[];
  readonly deleted: readonly api.DeletedItem[];
  readonly next?: string | undefined;
}

export default function MemoryPage() {
  const { memory: words, ...common } = useWords(table);
  const verbs = useWords(verbTable);
  const { status, report, attempt } = usePageStatus();
  const [which, setWhich] = useState<Which>("all");
  const [query, setQuery] = useState("");
  const [list, setList] = useState<List | null>(null);
  const [waiting, setWaiting] = useState(0);
  const [isAdding, setAdding] = useState(false);
  const asking = useRef<AbortController>(undefined);
  const search = useRef<HTMLInputElement>(null);

  const show = useCallback(async (before?: string) => {
    asking.current?.abort(); // an answer that was overtaken is dropped
    const { signal } = asking.current = new AbortController();
    const words = query.trim() !== "" && which !== "deleted" ? { q: query.trim() } : {};
    await attempt(async () => {
      const found = await client.memories({ ...WHICHES[which], ...words, limit: PAGE, ...(before === undefined ? {} : { before }) }, { signal })
        .catch((error: unknown) => { if (!signal.aborted) throw error; });
      if (!found || signal.aborted) return undefined;
      setList((known) => ({
        memories: [...before !== undefined && known ? known.memories : [], ...found.memories],
        deleted: [...before !== undefined && known ? known.deleted : [], ...found.deleted ?? []],
        next: found.next,
      }));
      return undefined;
    });
  }, [attempt, query, which]);
  const count = useCallback(() => {
    client.memories({ quarantined: true, limit: 100 }).then(({ memories }) => setWaiting(memories.length), () => undefined);
  }, []);
  useEffect(() => {
    const typing = setTimeout(() => void show(), query === "" ? 0 : TYPING_MS);
    return () => clearTimeout(typing);
  }, [show, query]);
  useEffect(count, [count]);

  const changed = (memory: api.MemoryItem) => {
    setList((known) => known && { ...known, memories: known.memories.map((each) => each.id === memory.id ? memory : each) });
    count();
  };
  const gone = (id: string, text: string, bringBack?: () => Promise<unknown>) => {
    setList((known) => known && {
      ...known, memories: known.memories.filter((each) => each.id !== id), deleted: known.deleted.filter((each) => each.id !== id),
    });
    report(text, bringBack && (() => void attempt(async () => {
      await bringBack();
      await show();
      count();
      return verbs.broughtBack;
    })));
    count();
    search.current?.focus();
  };
  const add = async ({ content, importance, type }: { content: string; importance: number; type: api.MemoryItem["type"] }) => {
    const isDone = await attempt(async () => {
      await client.remember({ content, importance, type });
      return undefined;
    });
    if (!isDone) return;
    setAdding(false);
    await show();
    report(words.remembered);
  };
  const isEmpty = list !== null && list.memories.length === 0 && list.deleted.length === 0;
  return (
    <section className="page">
      <div className="page-bar">
        <input
          ref={search} type="search" maxLength={200} autoComplete="off" value={query} placeholder={words.search} aria-label={words.search}
          disabled={which === "deleted"} onChange={(event) => setQuery(event.target.value)}
        />
        <select aria-label={words.which} value={which} onChange={(event) => setWhich(event.target.value as Which)}>
          {(Object.keys(WHICHES) as Which[]).map((each) => <option key={each} value={each}>{words.whiches[each]}</option>)}
        </select>
        <button type="button" className="small" onClick={() => setAdding(!isAdding)} aria-expanded={isAdding}><Plus aria-hidden="true" />{words.add}</button>
        <Copies attempt={attempt} onImported={() => void show()} />
      </div>
      {waiting > 0 && which !== "toConfirm" && (
        <p className="page-note">{words.suggestions(waiting)} <button type="button" className="small" onClick={() => setWhich("toConfirm")}>{words.look}</button></p>
      )}
      {isAdding && (
        <MemoryForm fields={["content", "importance", "type"]} labels={{ content: words.content, done: common.save }}
          given={{ content: "", importance: 3, type: "fact" }} onDone={add} onCancel={() => setAdding(false)} />
      )}
      <Profiles attempt={attempt} report={report} />
      <StatusLine status={status} />
      <ul className="cards" aria-label={words.whiches[which]} aria-busy={list === null}>
        {list?.memories.map((memory) => (
          <MemoryRow key={memory.id} memory={memory} attempt={attempt} onChanged={changed} onGone={gone} onReplaced={() => void show()} />
        ))}
        {list?.deleted.map((each) => <Deleted key={each.id} deleted={each} attempt={attempt} onGone={gone} />)}
        {isEmpty && <li className="empty">{which !== "all" || query.trim() !== "" ? common.nothingFound : words.none}</li>}
      </ul>
      {list?.next !== undefined && <button type="button" className="small more" onClick={() => void show(list.next)}>{common.more}</button>}
    </section>
  );
}

interface CopiesProps {
  readonly attempt: ReturnType<typeof usePageStatus>["attempt"];
  readonly onImported: () => void;
}

function Copies({ attempt, onImported }: CopiesProps) {
  const { memory: words, ...common } = useWords(table);
  const choose = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" className="small" onClick={() => void attempt(async () => {
        saveFile(await completeExport(await client.exportMemories()), "memories.jsonl");
        return common.exported;
      })}><Download aria-hidden="true" />{common.export}</button>
      <button type="button" className="small" onClick={() => choose.current?.click()}><Upload aria-hidden="true" />{common.import}</button>
      <input
        ref={choose} type="file" hidden accept=".jsonl,.ndjson,application/x-ndjson" aria-label={words.importFile}
        onChange={({ target }) => {
          const file = target.files?.[0];
          target.value = ""; // the same file can be chosen again
          if (!file) return;
          void attempt(async () => {
            const { imported } = await client.importMemories(file);
            onImported();
            return words.imported(imported);
          });
        }}
      />
    </>
  );
}
