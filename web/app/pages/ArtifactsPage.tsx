// The reader's files: what they are, what is in them, and how much room they take.

import type { api } from "@chat-gateway/client";
import { Braces, Code2, Download, Eye, EyeOff, File as FileIcon, FileText, Image, ScrollText, Sheet, Trash2 } from "lucide-react";
import { useCallback, useEffect, useState } from "react";

import { markGone } from "../conversation/artifact-files";
import { hashOf, NEW_CHAT } from "../page-address";
import { useLanguage } from "../settings";
import { client, useWords } from "../state";
import { canShow, Preview } from "./artifacts/Preview";
import { saveFile } from "../downloads";
import { localeOf, sizeText, useTime } from "./locale-formats";
import { codeOf } from "./problems";
import { type PageStatus, usePageStatus } from "./page-status";
import { StatusLine } from "./StatusLine";
import { words as table } from "./page-words";
import "./pages.css";

const PAGE = 30;
const ICONS = { text: FileText, json: Braces, csv: Sheet, markdown: FileText, code: Code2, log: ScrollText, image: Image, pdf: FileText, binary: FileIcon } as const;

export default function ArtifactsPage() {
  const { artifacts: words, more } = useWords(table);
  const language = useLanguage();
  const { status, attempt } = usePageStatus();
  const [artifacts, setArtifacts] = useState<readonly api.ArtifactItem[] | null>(null);
  const [page, setPage] = useState<Pick<api.ArtifactPage, "used" | "quota" | "next"> | null>(null);

  const show = useCallback((before?: string) => attempt(async () => {
    const { artifacts: found, ...rest } = await client.artifacts({ limit: PAGE, ...(before === undefined ? {} : { before }) });
    setArtifacts((known) => before === undefined ? found : [...known ?? [], ...found]);
    setPage(rest);
    return undefined;
  }), [attempt]);
  useEffect(() => void show(), [show]);

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
      <StatusLine status={status} />
      <ul className="cards" aria-busy={artifacts === null}>
        {artifacts?.map((artifact) => <ArtifactCard key={artifact.ref} artifact={artifact} attempt={attempt} onGone={gone} />)}
        {artifacts?.length === 0 && <li className="empty">{words.none}</li>}
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
        <Icon aria-hidden="true" />
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
