// The list of saved prompts that a slash at the beginning of a message opens. It is loaded with the first slash.

import { lazy, type RefObject, Suspense } from "react";

import { useStore } from "../store";
import { library } from "./library";

const SlashList = lazy(() => import("./SlashList").then(({ SlashList }) => ({ default: SlashList })));
const SavedPromptsDialog = lazy(() => import("./SavedPromptsDialog").then(({ SavedPromptsDialog }) => ({ default: SavedPromptsDialog })));

export interface SlashProps {
  readonly text: string;
  readonly box: RefObject<HTMLTextAreaElement | null>;
  readonly onWrite: (text: string) => void;
}

const TYPED = /^\/(\S{0,64})$/;

export function Slash({ text, box, onWrite }: SlashProps) {
  const typed = TYPED.exec(text)?.[1];
  return typed === undefined ? null : <Suspense><SlashList typed={typed} box={box} onWrite={onWrite} /></Suspense>;
}

export function Library() {
  const { isOpen } = useStore(library, (state) => state);
  return isOpen && <Suspense><SavedPromptsDialog onClose={() => library.set({ isOpen: false })} /></Suspense>;
}
