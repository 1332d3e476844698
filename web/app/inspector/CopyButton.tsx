import { useEffect, useState } from "react";

import { announce, useWords } from "../state";
import { words as table } from "./words";

const TOLD = 2000; // milliseconds

export function CopyButton({ text }: { readonly text: string }) {
  const words = useWords(table);
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), TOLD);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    announce(words.copied);
  };
  return <button type="button" className="small" onClick={() => void copy()}>{isCopied ? words.copied : words.copy}</button>;
}
