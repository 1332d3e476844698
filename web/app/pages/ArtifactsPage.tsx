// The reader's files: what they are, what is in them, and how much room they take.

import type { api } from "@chat-gateway/client";
import { Braces, Code2, Download, Eye, EyeOff, File as FileIcon, FileText, Image, MessageSquarePlus, ScrollText, Sheet, Trash2 } from "lucide-react";
import { useCallback, useEffect, useRef, useState } from "react";

import { isPicture, LARGEST_PREVIEW, markGone } from "../conversation/artifact-files";
import { attachKept } from "../conversation/drafts";
import { enlarge } from "../conversation/enlarged";
import { Picture } from "../conversation/Picture";
import { words as pictureTable } from "../conversation/picture-words";
import { hashOf, NEW_CHAT } from "../page-address";
import { PreviewButton } from "../preview/PreviewButton";
import { useLanguage } from "../settings";
import { client, go, useWords } from "../state";
import { canShow, Preview } from "./artifacts/Preview";
import { saveFile } from "../downloads";
import { localeOf, sizeText, useTime } from "./locale-formats";
import { codeOf } from "./problems";
import { type PageStatus, usePageStatus } from "./page-status";
import { StatusLine } from "./StatusLine";
import { words as table } from "./page-words";
import "./pages.css";

const PAGE = 30;
const TYPING_MS = 200;
const ICONS = { text: FileText, json: Braces, csv: Sheet, markdown: FileText, code: Code2, log: ScrollText, image: Image, pdf: FileText, binary: FileIcon } as const;

export default function ArtifactsPage() {
  const { artifacts: words, more, nothingFound } = useWords(table);
  const language = useLanguage();
  const { status, attempt } = usePageStatus();
  const [artifacts, setArtifacts] = useState<readonly api.ArtifactItem[] | null>(null);
  const [page, setPage] = useState<Pick<api.ArtifactPage, "used" | "quota" | "next"> | null>(null);
  const [query, setQuery] = useState("");
  const [kind, setKind] = useState<api.ArtifactItem["kind"] | "all">("all");
  const asking = useRef<AbortController>(undefined);
  const isNarrowed = query.trim() !== "" || kind !== "all";

  const show = useCallback((before?: string) => {
    asking.current?.abort(); // an answer that was overtaken is dropped
    const { signal } = asking.current = new AbortController();
    const narrowed = { ...(query.trim() === "" ? {} : { q: query.trim() }), ...(kind === "all" ? {} : { kind }) };
    return attempt(async () => {
      const found = await client.artifacts({ limit: PAGE, ...narrowed, ...(before === undefined ? {} : { before }) }, { signal })
        .catch((error: unknown) => { if (!signal.aborted) throw error; });
      if (!found || signal.aborted) return undefined;
      const { artifacts: some, ...rest } = found;
      setArtifacts((known) => before === undefined ? some : [...known ?? [], ...some]);
      setPage(rest);
      return undefined;
    });
  }, [attempt, query, kind]);
  useEffect(() => {
    const typing = setTimeout(() => void show(), query === "" ? 0 : TYPING_MS);
    return () => clearTimeout(typing);
  }, [show, query]);

  const gone = (ref: string) => {
    setArtifacts((known) => known?.filter((each) => each.ref !== ref) ?? null);
    client.artifacts({ limit: 1 }).then(({ used, quota }) => setPage((known) => known && { ...known, used, quota }), () => undefined);
  };
  return (
    <section className="page">
      <p className="faint">{words.hint}</p>
      {page && (
        <p className="room">
          <meter min={0} max={page.quota} value={page.used} aria-label={words.room(sizeText(page.used, language), sizeText(page.quota, language))} />
          {words.room(sizeText(page.used, language), sizeText(page.quota, language))}
        </p>
      )}
      {(isNarrowed || artifacts === null || artifacts.length > 0) && (
        <div className="page-bar" role="search" aria-label={words.search}>
          <input
            type="search" maxLength={200} autoComplete="off" value={query} placeholder={words.search} aria-label={words.search}
            onChange={(event) => setQuery(event.target.value)}
          />
          <select aria-label={words.kind} value={kind} onChange={(event) => setKind(event.target.value as typeof kind)}>
            <option value="all">{words.allKinds}</option>
            {(Object.keys(ICONS) as (keyof typeof ICONS)[]).map((each) => <option key={each} value={each}>{words.kinds[each]}</option>)}
          </select>
        </div>
      )}
      <StatusLine status={status} />
      <ul className="cards" aria-busy={artifacts === null}>
        {artifacts?.map((artifact) => <ArtifactCard key={artifact.ref} artifact={artifact} attempt={attempt} onGone={gone} />)}
        {artifacts?.length === 0 && page?.next === undefined && <li className="empty">{isNarrowed ? nothingFound : words.none}</li>}
      </ul>
      {page?.next !== undefined && <button type="button" className="small more" onClick={() => void show(page.next)}>{more}</button>}
    </section>
  );
}

interface CardProps {
  readonly artifact: api.ArtifactItem;
  readonly attempt: PageStatus["attempt"];
  readonly onGone: (ref: string) => void;
}

function ArtifactCard({ artifact, attempt, onGone }: CardProps) {
  const { artifacts: words, ...common } = useWords(table);
  const language = useLanguage();
  const time = useTime();
  const [isShown, setShown] = useState(false);
  const [isAsked, ask] = useState(false);
  const { ref, kind, size, lines, summary, created_at: at, session_id: made, used_in: session = made } = artifact;
  const name = nameOf(artifact);
  const Icon = ICONS[kind];
  const [isBroken, setBroken] = useState(false);
  const hasThumbnail = !isBroken && isPicture(artifact, LARGEST_PREVIEW);
  const { enlarge: toEnlarge } = useWords(pictureTable);
  const label = (action: string) => words.actionOf(action, name);
  const remove = () => attempt(async () => {
    try {
      await client.deleteArtifact(ref);
    } catch (error) {
      if (codeOf(error) !== "artifact_not_found") throw error; // it is gone already
    }
    onGone(ref);
    markGone(ref);
    return words.deleted(name);
  });
  const length = lines === 1 ? words.oneLine : lines !== undefined && words.lines(lines.toLocaleString(localeOf(language)));
  return (
    <li className="card artifact-card">
      <div className="card-head">
        {hasThumbnail ? (
          <button type="button" className="thumbnail" aria-label={toEnlarge(name)} title={toEnlarge(name)} onClick={() => enlarge([artifact], artifact)}>
            <Picture file={artifact} onTrouble={() => setBroken(true)} />
          </button>
        ) : <Icon aria-hidden="true" />}
        <b className="name" dir="auto" title={ref}>{name}</b>
        <small>{[words.kinds[kind], length, sizeText(size, language), time(at)].filter(Boolean).join(" · ")}
          {session !== undefined && <> · <a href={hashOf({ ...NEW_CHAT, session })}>{words.inChat}</a></>}</small>
      </div>
      {summary !== undefined && <p dir="auto">{summary}</p>}
      <div className="buttons">
        {canShow(artifact) && (
          <button type="button" className="small" aria-expanded={isShown} aria-label={label(isShown ? words.hide : words.show)} onClick={() => setShown(!isShown)}>
            {isShown ? <EyeOff aria-hidden="true" /> : <Eye aria-hidden="true" />}{isShown ? words.hide : words.show}
          </button>
        )}
        <PreviewButton file={artifact} name={name} />
        <button type="button" className="small" aria-label={label(words.ask)} onClick={() => {
          attachKept(null, { ref, name, mime: artifact.mime, size });
          go({});
        }}><MessageSquarePlus aria-hidden="true" />{words.ask}</button>
        <button type="button" className="small" aria-label={label(common.download)} onClick={() => void attempt(async () => {
          const file = await client.artifact(ref);
          saveFile(file, artifact.name ?? file.name);
          return common.exported;
        })}><Download aria-hidden="true" />{common.download}</button>
        {isAsked ? (
          <>
            <button type="button" className="small dangerous" autoFocus aria-label={label(common.deleteNow)} onClick={() => void remove()}>{common.deleteNow}</button>
            <button type="button" className="small" onClick={() => ask(false)}>{common.cancel}</button>
          </>
        ) : (
          <button type="button" className="small" aria-label={label(common.delete)} onClick={() => ask(true)}><Trash2 aria-hidden="true" />{common.delete}</button>
        )}
      </div>
      {isShown && <div className="preview"><Preview artifact={artifact} /></div>}
    </li>
  );
}

// The result of a tool has no name of its own.
function nameOf({ ref, name, metadata }: api.ArtifactItem): string {
  const tool = metadata?.tool;
  return name ?? (typeof tool === "string" && tool !== "" ? `${tool} · ${ref}` : ref);
}
