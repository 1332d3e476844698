// The files of a message: small images as they are, everything else by its name. Each can be saved.

import type { AttachedFile } from "@chat-gateway/client";
import { useState } from "react";

import { ActionButton, Trouble } from "./ActionButton";
import { codeOf } from "./failures";
import { isPicture, LARGEST_PREVIEW, markGone, saveArtifact, useGone } from "./artifact-files";
import { enlarge } from "./enlarged";
import { toldOf } from "./file-reading";
import { words as pictureTable } from "./picture-words";
import { useSpeech } from "./speech";
import { useApp, useWords } from "../state";
import { Picture, useBroughtPicture } from "./Picture";

export function AttachedFiles({ files }: { readonly files: readonly AttachedFile[] }) {
  const { words } = useSpeech();
  if (files.length === 0) return null;
  return (
    <ul className="attached" aria-label={words.attachedFiles}>
      {files.map((file) => <AttachedFileView key={file.ref} file={file} files={files} />)}
    </ul>
  );
}

function AttachedFileView({ file, files }: { readonly file: AttachedFile; readonly files: readonly AttachedFile[] }) {
  const { enlarge: toEnlarge } = useWords(pictureTable);
  const speech = useSpeech();
  const { words } = speech;
  const { ref, size } = file;
  const name = file.name || ref;
  const isGone = useGone(ref);
  const [isBroken, setBroken] = useState(false); // what is wrong is said when it is asked for
  const [trouble, setTrouble] = useState<unknown>(null);
  const fail = (error: unknown) => codeOf(error) === "artifact_not_found" ? markGone(ref) : setTrouble(error);
  const isFile = useApp(({ replay }) => replay !== null && replay.recording !== null); // of which nothing can be asked for
  const isBrought = useBroughtPicture(ref) !== undefined;
  const told = toldOf(file, speech);
  const asPicture = !isBroken && !isGone && (isFile ? isBrought : isPicture(file, LARGEST_PREVIEW));
  const act = async () => asPicture ? enlarge(files.filter((each) => isPicture(each, LARGEST_PREVIEW)), file) : saveArtifact(file);
  const label = asPicture ? toEnlarge(name) : `${words.download}: ${name}`;
  const shown = (
    <>
      {asPicture && <Picture file={file} onTrouble={(error) => codeOf(error) === "artifact_not_found" ? markGone(ref) : setBroken(true)} />}
      <span className="name" dir="auto">{name}</span>
      {!asPicture && size > 0 && <small>{speech.bytes(size)}</small>}
    </>
  );
  return (
    <li className={isGone ? "gone" : undefined} data-ref={ref}>
      {isGone ? <span className="chip"><span className="name" dir="auto">{name}</span></span> : isFile ? <span className={asPicture ? "chip picture" : "chip"}>{shown}</span> : (
        <ActionButton className={asPicture ? "chip picture" : "chip"} act={() => act()} onTrouble={fail}
          label={label} title={[label, told?.words].filter(Boolean).join("\n")}>
          {shown}
        </ActionButton>
      )}
      {told?.isLess && <small className="told">{told.words}</small>}
      <Trouble>{isGone ? words.problems.artifact_not_found : trouble !== null && speech.problem(trouble)}</Trouble>
    </li>
  );
}
