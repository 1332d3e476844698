// Copies a text, and says so for a moment.

import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";

import { useWords } from "../state";
import { words as table } from "./words";

const TOLD_MS = 2000;

interface Props {
  readonly text: () => string;
  readonly label: string;
  readonly className?: string;
}

export function CopyButton({ text, label, className = "icon copy" }: Props) {
  const words = useWords(table);
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), TOLD_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    await copyText(text());
    setCopied(true);
  };
  return (
    <button type="button" className={className} title={isCopied ? words.copied : label} aria-label={isCopied ? words.copied : label}
      onClick={() => void copy()}>
      {isCopied ? <Check aria-hidden /> : <Copy aria-hidden />}
    </button>
  );
}

// A page that came over plain HTTP has no clipboard of its own: there a selection is copied.
async function copyText(text: string): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy"); // eslint-disable-line @typescript-eslint/no-deprecated -- the only way there
  field.remove();
}
