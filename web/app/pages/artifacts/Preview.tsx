// What is in an artifact: text in parts, CSV and JSON as tables, images, PDFs. None of it is markup of this page: an
// image is of a type that runs nothing, and a PDF is shown by the browser's own viewer, in a process of its own, from a
// blob that is a PDF whatever it holds.

import { type api, type GatewayClient } from "@chat-gateway/client";
import { useEffect, useState } from "react";

import { saveFile } from "../../downloads";
import { useLanguage } from "../../settings";
import { client, useWords } from "../../state";
import { localeOf, sizeText } from "../locale-formats";
import { inWords } from "../problems";
import { words as table } from "../page-words";
import { DataTable } from "./DataTable";
import type { JsonPart, TableData } from "./tables";

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const MOST_BYTES = 20_000_000; // of an image or a PDF that is fetched to be shown
const MOST_TABLE_BYTES = 4_000_000; // of a file that is read to be a table; of a CSV the beginning
const LINES = 200; // of the first part of a text

export type Artifact = Pick<api.ArtifactItem, "ref" | "name" | "mime" | "kind" | "size" | "lines">;

export function canShow({ mime, kind, lines }: Artifact): boolean {
  return lines !== undefined || PICTURES.has(mime) || kind === "pdf";
}

export function Preview({ artifact }: { readonly artifact: Artifact }) {
  const { artifacts: words } = useWords(table);
  const { kind, mime, size, lines } = artifact;
  const isTabular = kind === "csv" || kind === "json" && size <= MOST_TABLE_BYTES;
  const [asText, setAsText] = useState(!isTabular);
  if (PICTURES.has(mime)) return size <= MOST_BYTES ? <Picture artifact={artifact} /> : <p>{words.tooLarge}</p>;
  if (kind === "pdf") return size <= MOST_BYTES ? <Pdf artifact={artifact} /> : <p>{words.tooLarge}</p>;
  if (lines === undefined) return null;
  return (
    <>
      {isTabular && (
        <div className="buttons" role="group">
          <button type="button" className="small" aria-pressed={!asText} onClick={() => setAsText(false)}>{words.asTable}</button>
          <button type="button" className="small" aria-pressed={asText} onClick={() => setAsText(true)}>{words.asText}</button>
        </div>
      )}
      {asText ? <Text artifact={artifact} /> : kind === "csv" ? <Csv artifact={artifact} /> : <JsonTable artifact={artifact} />}
    </>
  );
}

// What `load` resolves to, or what went wrong. It is asked once for each artifact.
function useLoaded<T>(ref: string, load: (signal: AbortSignal) => Promise<T>): { readonly value?: T; readonly trouble?: string } {
  const language = useLanguage();
  const [loaded, setLoaded] = useState<{ value?: T; trouble?: string }>({});
  useEffect(() => {
    const ending = new AbortController();
    load(ending.signal).then(
      (value) => { if (!ending.signal.aborted) setLoaded({ value }); },
      (error: unknown) => { if (!ending.signal.aborted) setLoaded({ trouble: inWords(error as Error, language) }); },
    );
    return () => ending.abort();
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `load` is the same for the same artifact
  }, [ref, language]);
  return loaded;
}

function Loading({ trouble }: { readonly trouble: string | undefined }) {
  const { loading } = useWords(table);
  return <p role={trouble === undefined ? "status" : "alert"} className={trouble === undefined ? "faint" : "trouble"}>{trouble ?? loading}</p>;
}

// An address of the bytes as that type, and no other; it ends with the component.
function useAddress({ ref }: Artifact, mime: string): { readonly value?: string; readonly trouble?: string } {
  const { value: file, trouble } = useLoaded(ref, (signal) => client.artifact(ref, { signal }));
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    if (!file) return;
    const made = URL.createObjectURL(new Blob([file], { type: mime }));
    // eslint-disable-next-line react-hooks/set-state-in-effect -- the address is an outer resource with a life of its own
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [file, mime]);
  return { ...(address === undefined ? {} : { value: address }), ...(trouble === undefined ? {} : { trouble }) };
}

function Picture({ artifact }: { readonly artifact: Artifact }) {
  const { artifacts: words } = useWords(table);
  const { value, trouble } = useAddress(artifact, artifact.mime);
  const [isBroken, setBroken] = useState(false);
  if (isBroken) return <p role="alert" className="trouble">{words.noPicture}</p>;
  return value === undefined ? <Loading trouble={trouble} />
    : <img className="picture" src={value} alt={artifact.name ?? artifact.ref} onError={() => setBroken(true)} />;
}

function Pdf({ artifact }: { readonly artifact: Artifact }) {
  const { artifacts: words } = useWords(table);
  const { value, trouble } = useAddress(artifact, "application/pdf");
  const { download } = useWords(table);
  const save = () => void client.artifact(artifact.ref).then((file) => saveFile(file, artifact.name ?? file.name));
  if (!navigator.pdfViewerEnabled) {
    return <p className="row"><span>{words.noViewer}</span> <button type="button" className="small" onClick={save}>{download}</button></p>;
  }
  return value === undefined ? <Loading trouble={trouble} /> : <iframe className="pdf" src={value} title={artifact.name ?? artifact.ref} />;
}

function Text({ artifact: { ref, name, size } }: { readonly artifact: Artifact }) {
  const { artifacts: words, more } = useWords(table);
  const language = useLanguage();
  const [text, setText] = useState("");
  const [part, setPart] = useState<api.ArtifactPart | null>(null);
  const [trouble, setTrouble] = useState<string>();
  const read = (wanted: string) => client.artifactPart(ref, Object.fromEntries(new URLSearchParams(wanted))).then((next) => {
    setText((before) => `${before}${next.how === "lines" && before !== "" && !before.endsWith("\n") ? "\n" : ""}${next.content}`);
    setPart(next);
  }, (error: unknown) => setTrouble(inWords(error as Error, language)));
  const { value: first, trouble: firstTrouble } = useLoaded(ref, () => client.artifactPart(ref, { lines: `1-${LINES}` }));
  const shown = part ?? first;
  const following = /^bytes=(\d+)/.exec(shown?.next ?? ""); // a line may be too long to come at once
  const count = (value: number) => value.toLocaleString(localeOf(language));
  if (!shown) return <Loading trouble={firstTrouble} />;
  return (
    <>
      <pre className="artifact-text" tabIndex={0} aria-label={name ?? ref} dir="auto">{part ? `${first?.content ?? ""}${joint(first)}${text}` : first?.content}</pre>
      <p className="row">
        <small>{shown.how === "lines" && !following ? words.linesShown(count(shown.last), count(shown.total)) : words.bytesShown(count(following ? Number(following[1]) : size), count(size))}</small>
        {shown.next !== undefined && <button type="button" className="small" onClick={() => void read(shown.next ?? "")}>{more}</button>}
      </p>
      {trouble !== undefined && <p role="alert" className="trouble">{trouble}</p>}
    </>
  );
}

const joint = (first: api.ArtifactPart | undefined) => first?.how === "lines" && first.next?.startsWith("lines=") === true && !first.content.endsWith("\n") ? "\n" : "";

interface Read {
  readonly text: string;
  readonly isWhole: boolean;
  /** The library comes with the first table. */
  readonly tables: typeof import("./tables");
}

// The beginning of the file, and what makes tables of it.
async function beginning(server: GatewayClient, { ref, size }: Artifact, signal: AbortSignal): Promise<Read> {
  const isWhole = size <= MOST_TABLE_BYTES;
  const headers: HeadersInit = isWhole ? {} : { Range: `bytes=0-${MOST_TABLE_BYTES - 1}` };
  const [response, tables] = await Promise.all([server.connection.send(`/api/artifacts/${encodeURIComponent(ref)}`, { headers, signal }), import("./tables")]);
  return { text: await response.text(), isWhole, tables };
}

function Csv({ artifact }: { readonly artifact: Artifact }) {
  const { artifacts: words } = useWords(table);
  const language = useLanguage();
  const { value, trouble } = useLoaded(artifact.ref, async (signal): Promise<{ data: TableData | null; isWhole: boolean }> => {
    const { text, isWhole, tables } = await beginning(client, artifact, signal);
    return { data: attempt(() => tables.tableOfCsv(text, isWhole)), isWhole };
  });
  if (!value) return <Loading trouble={trouble} />;
  if (!value.data) return <p role="alert">{words.notTable}</p>;
  return <DataTable name={artifact.name ?? artifact.ref} data={value.data} remark={value.isWhole ? "" : words.firstPart(sizeText(MOST_TABLE_BYTES, language))} />;
}

function JsonTable({ artifact }: { readonly artifact: Artifact }) {
  const { artifacts: words } = useWords(table);
  const [at, setAt] = useState(0);
  const { value: parts, trouble } = useLoaded(artifact.ref, async (signal): Promise<readonly JsonPart[]> => {
    const { text, tables } = await beginning(client, artifact, signal);
    return attempt(() => tables.partsOfJson(text)) ?? [];
  });
  if (!parts) return <Loading trouble={trouble} />;
  const part = parts[at];
  if (!part) return <p role="alert">{words.notTable}</p>;
  return (
    <>
      {parts.length > 1 && (
        <label>{words.part} <select value={at} onChange={(event) => setAt(Number(event.target.value))}>
          {parts.map(({ path }, index) => <option key={path} value={index}>{path === "" ? words.whole : path}</option>)}
        </select></label>
      )}
      <DataTable key={at} name={artifact.name ?? artifact.ref} data={part.table()} remark="" />
    </>
  );
}

function attempt<T>(act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
