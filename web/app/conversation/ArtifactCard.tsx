// What was kept aside: a large result as a card. Of a content only text and images are shown, and neither as markup;
// everything else is a file to keep.

import type { Artifact } from "@chat-gateway/client";
import { useEffect, useState } from "react";

import { PreviewButton } from "../preview/PreviewButton";
import { client, useApp } from "../state";
import { ActionButton, Trouble } from "./ActionButton";
import { codeOf } from "./failures";
import { isPicture, LARGEST_PICTURE, markGone, saveArtifact, useGone } from "./artifact-files";
import { type Speech, useSpeech } from "./speech";
import { Picture, useBroughtPicture } from "./Picture";

const LINES = 200; // of the first part that is shown

export function ArtifactCard({ artifact }: { readonly artifact: Artifact }) {
  const speech = useSpeech();
  const { words } = speech;
  const { ref, name = ref, kind = "binary", mime, summary } = artifact;
  const isGone = useGone(ref);
  const isFile = useApp(({ replay }) => replay !== null && replay.recording !== null);
  const isBrought = useBroughtPicture(ref) !== undefined;
  const [isWanted, setShown] = useState(false);
  const isShown = isWanted || isBrought;
  const [trouble, setTrouble] = useState<unknown>(null);
  const fail = (error: unknown) => codeOf(error) === "artifact_not_found" ? markGone(ref) : setTrouble(error);
  const isText = artifact.lines !== undefined;
  const kindName = (words.kinds as Record<string, string>)[kind] ?? kind;
  const label = isShown ? words.hide : words.show;
  return (
    <section className={isGone ? "artifact gone" : "artifact"} aria-label={name} title={`${ref} · ${mime}`} data-ref={ref}>
      <div className="artifact-head">
        <b dir="auto">{name}</b>
        <small>{`${kindName} · ${speech.size(artifact)}`}</small>
        {!isGone && !isFile && (
          <span className="choices">
            {(isText || isPicture(artifact, LARGEST_PICTURE)) && (
              <button type="button" className="small" aria-label={`${label}: ${name}`} aria-expanded={isShown}
                onClick={() => setShown(!isShown)}>{label}</button>
            )}
            <PreviewButton file={artifact} name={name} />
            <ActionButton act={() => saveArtifact(artifact)} onTrouble={fail} label={`${words.download}: ${name}`}>{words.download}</ActionButton>
          </span>
        )}
      </div>
      {summary && <p dir="auto">{summary}</p>}
      <Trouble>{isGone ? words.problems.artifact_not_found : trouble !== null && speech.problem(trouble)}</Trouble>
      {isShown && !isGone && (
        <div className="artifact-shown">
          {isText ? <TextParts artifact={artifact} onTrouble={fail} /> : <Picture file={artifact} onTrouble={fail} />}
        </div>
      )}
    </section>
  );
}

interface Read {
  readonly text: string;
  readonly range: string;
  readonly next: string | null;
}

// The beginning of a text, and a button that brings the part that follows.
function TextParts({ artifact, onTrouble }: { readonly artifact: Artifact; readonly onTrouble: (error: unknown) => void }) {
  const speech = useSpeech();
  const { words } = speech;
  const { ref, name = ref } = artifact;
  const [read, setRead] = useState<Read | null>(null);
  const more = async (wanted: string) => {
    const part = await readPart(artifact, wanted, speech);
    setRead((before) => before === null ? part : { ...part, text: joined(before.text, part.text, wanted) });
  };
  useEffect(() => {
    let isOn = true;
    readPart(artifact, `lines=1-${LINES}`, speech).then((part) => isOn && setRead(part), (error: unknown) => isOn && onTrouble(error));
    return () => {
      isOn = false;
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps -- read once: the card of another artifact is another card
  }, []);
  if (read === null) return <small>{words.loading}</small>;
  return (
    <>
      <pre tabIndex={0} aria-label={name} dir="auto">{read.text}</pre>
      <div className="artifact-more">
        <small>{read.range}</small>
        {read.next !== null && (
          <ActionButton act={() => more(read.next ?? "")} onTrouble={onTrouble} label={`${words.showMore}: ${name}`}>{words.showMore}</ActionButton>
        )}
      </div>
    </>
  );
}

async function readPart({ ref, size }: Artifact, wanted: string, speech: Speech): Promise<Read> {
  const part = await client.artifactPart(ref, Object.fromEntries(new URLSearchParams(wanted)));
  const next = part.next ?? null;
  const following = next === null ? null : /^bytes=(\d+)/.exec(next); // a line may be too long to come at once
  const inLines = part.how === "lines" && following === null;
  const [last, total] = inLines ? [part.last, part.total] : [following === null ? size : Number(following[1]), size];
  const range = speech.fill(inLines ? speech.words.linesShown : speech.words.bytesShown, { last: speech.number(last), total: speech.number(total) });
  return { text: part.content, range, next };
}

function joined(before: string, after: string, wanted: string): string {
  return wanted.startsWith("lines=") && before !== "" && !before.endsWith("\n") ? `${before}\n${after}` : before + after;
}
