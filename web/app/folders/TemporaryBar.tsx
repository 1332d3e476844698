// What a temporary chat is, above the field in which it goes on.

import { Timer } from "lucide-react";

import { go, useWords } from "../state";
import { useTemporary } from "./temporary";
import { words as table } from "./folder-words";
import "./beginning.css";

export function TemporaryBar({ session }: { readonly session: string }) {
  const words = useWords(table);
  const isTemporary = useTemporary(session);
  if (!isTemporary) return null;
  return (
    <p className="temporary" role="note">
      <Timer aria-hidden /><span>{words.temporaryLine}</span>
      <button type="button" className="small" onClick={() => go({})}>{words.endNow}</button>
    </p>
  );
}
