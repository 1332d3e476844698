// What a temporary chat is, above the field in which it goes on.

import { Timer } from "lucide-react";

import { go, useWords } from "../state";
import { words as table } from "./folder-words";
import "./beginning.css";

export function TemporaryBar() {
  const words = useWords(table);
  return (
    <p className="temporary" role="note">
      <Timer aria-hidden /><span>{words.temporaryLine}</span>
      <button type="button" className="small" onClick={() => go({})}>{words.endNow}</button>
    </p>
  );
}
