import { client, useWords } from "../state";
import { words as table } from "./preview-words";
import { kindOfFile, LARGEST, preview, useCanPreview } from "./previewed";

interface Props {
  readonly file: { readonly ref: string; readonly mime: string; readonly size: number; readonly lines?: number | undefined };
  readonly name: string;
}

// Shows a file that can be looked at beside the conversation; nothing where it cannot.
export function PreviewButton({ file: { ref, mime, size, lines }, name }: Props) {
  const words = useWords(table);
  const kind = kindOfFile({ mime, name });
  if (!useCanPreview() || kind === undefined || lines === undefined || size > LARGEST) return null;
  const text = async () => (await client.artifact(ref)).text();
  return <button type="button" className="small" aria-label={words.previewOf(name)} onClick={() => preview({ kind, name, text })}>{words.preview}</button>;
}
