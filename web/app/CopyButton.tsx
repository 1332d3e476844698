// Copies a text, and says so for a moment.

import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";

import { words as table } from "./frame-words";
import { announce, useWords } from "./state";

const SAYS_SO_MS = 2000;

interface Props {
  readonly text: () => string;
  /** What is copied, of a button with an icon; without it the button says "Copy". */
  readonly label?: string;
  /** In the place of the icon, which others beside it have too. */
  readonly name?: string;
}

export function CopyButton({ text, label, name }: Props) {
  const words = useWords(table);
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), SAYS_SO_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    await copyText(text());
    setCopied(true);
    announce(words.copied);
  };
  const says = isCopied ? words.copied : label ?? words.copy;
  if (label === undefined) return <button type="button" className="small" onClick={() => void copy()}>{says}</button>;
  return (
    <button type="button" className="icon copy" title={says} aria-label={says} onClick={() => void copy()}>
      {isCopied ? <Check aria-hidden /> : name ?? <Copy aria-hidden />}
    </button>
  );
}

// A page that came over plain HTTP has no clipboard of its own: there a selection is copied.
export async function copyText(text: string): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy"); // eslint-disable-line @typescript-eslint/no-deprecated -- the only way there
  field.remove();
}
