// The files that go with the next message.

import type { api } from "@chat-gateway/client";
import { X } from "lucide-react";

import { useModel } from "../caller";
import { useDefaultModel, useKnownModels } from "../known-models";
import { type Draft, remove, retry, type Upload } from "./drafts";
import { codeOf, mayHelp } from "./failures";
import { toldOf } from "./file-reading";
import { type Speech, useSpeech } from "./speech";
import { Thumbnail } from "./Thumbnail";

interface Props {
  readonly session: string | null;
  readonly draft: Draft;
  /** Leads to where files can be deleted. */
  readonly onMakeRoom: () => void;
}

export function DraftFiles({ session, draft, onMakeRoom }: Props) {
  const { words } = useSpeech();
  const chosen = useModel(session);
  const usual = useDefaultModel();
  const model = useKnownModels()?.models.find(({ id }) => id === (chosen ?? usual));
  if (draft.uploads.length === 0) return null;
  return (
    <ul id="draft-files" aria-label={words.attachedFiles}>
      {draft.uploads.map((upload) => <Chip key={upload.id} upload={upload} model={model} onRemove={() => remove(session, upload)} onMakeRoom={onMakeRoom} />)}
    </ul>
  );
}

interface ChipProps {
  readonly upload: Upload;
  readonly model: api.ChoosableModel | undefined;
  readonly onRemove: () => void;
  readonly onMakeRoom: () => void;
}

function Chip({ upload, model, onRemove, onMakeRoom }: ChipProps) {
  const speech = useSpeech();
  const { words, fill } = speech;
  const { name, size, state, share, error, file, artifact } = upload;
  const told = artifact ? toldOf(artifact, speech, model) : null;
  const kind = state === "uploading" ? " uploading" : state === "failed" ? " trouble" : told?.isLess ? " less" : "";
  return (
    <li className={`chip${kind}`} title={name}>
      <Thumbnail upload={upload} />
      <span className="name" dir="auto">{name}</span>
      <small className="state" role="status">
        {state === "uploading" && `${speech.bytes(size)} · ${words.uploading}`}
        {state === "ready" && [speech.bytes(size), told?.isLess ? "" : told?.words].filter(Boolean).join(" · ")}
        {state === "failed" && troubleOf(error, speech)}{" "}
        {state === "failed" && codeOf(error) === "artifacts_full" && (
          <button type="button" className="small" onClick={onMakeRoom}>{words.makeRoom}</button>
        )}
        {state === "failed" && codeOf(error) !== "artifacts_full" && file && mayHelp(error) && (
          <button type="button" className="small" onClick={() => retry(upload)}>{words.again}</button>
        )}
      </small>
      {told?.isLess && <small className="told" role="status">{told.words}</small>}
      {state === "uploading" && <progress aria-label={name} {...(share === undefined ? {} : { value: share })} />}
      <button type="button" className="icon" title={fill(words.removeFile, { name })} aria-label={fill(words.removeFile, { name })} onClick={onRemove}>
        <X aria-hidden />
      </button>
    </li>
  );
}

function troubleOf(error: unknown, speech: Speech): string {
  const { details } = (error ?? {}) as { details?: { artifact_max_size?: number } };
  if (details?.artifact_max_size) return speech.fill(speech.words.tooLarge, { most: speech.bytes(details.artifact_max_size) });
  return (speech.words.problems as Record<string, string>)[codeOf(error)] ?? speech.words.uploadFailed;
}
