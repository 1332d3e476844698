// Beside what is selected in a message: puts it into the field, as a quotation to be answered.

import { TextQuote } from "lucide-react";
import { type RefObject, useEffect, useState } from "react";
import { createPortal } from "react-dom";

import { quote } from "./drafts";
import { useSpeech } from "./speech";

const MOST = 10_000; // characters
const MARGIN = 8; // pixels

interface Props {
  readonly session: string;
  /** Where the messages are. */
  readonly within: RefObject<HTMLElement | null>;
}

interface Selected {
  readonly words: string;
  readonly x: number;
  readonly y: number;
}

export function QuoteButton({ session, within }: Props) {
  const { words } = useSpeech();
  const [selected, select] = useState<Selected | null>(null);
  useEffect(() => {
    const ending = new AbortController();
    const { signal } = ending;
    let isHeld = false;
    const look = () => select(isHeld ? null : selectedIn(within.current));
    document.addEventListener("pointerdown", (event) => {
      isHeld = !(event.target instanceof Element && event.target.closest(".quote-it"));
    }, { signal, capture: true });
    document.addEventListener("pointerup", () => {
      isHeld = false;
      setTimeout(look); // a click takes the selection away after it
    }, { signal });
    document.addEventListener("selectionchange", look, { signal });
    within.current?.addEventListener("scroll", look, { signal });
    addEventListener("resize", look, { signal });
    return () => ending.abort();
  }, [within]);
  if (selected === null) return null;
  const take = () => {
    quote(session, selected.words);
    getSelection()?.removeAllRanges();
    select(null);
    const box = document.querySelector<HTMLTextAreaElement>("#input");
    box?.focus();
    requestAnimationFrame(() => box?.setSelectionRange(box.value.length, box.value.length));
  };
  return createPortal(
    <button type="button" className="small quote-it" style={{ left: selected.x, top: selected.y }} onPointerDown={(event) => event.preventDefault()} onClick={take}>
      <TextQuote aria-hidden />{words.quoteIt}
    </button>,
    document.body,
  );
}

// What is selected in the messages, and the place below its end; null: nothing is.
function selectedIn(place: HTMLElement | null): Selected | null {
  const selection = getSelection();
  if (!place || !selection || selection.isCollapsed || selection.rangeCount === 0) return null;
  const words = selection.toString();
  const range = selection.getRangeAt(0);
  const at = range.commonAncestorContainer;
  const element = at instanceof Element ? at : at.parentElement;
  if (words.trim() === "" || words.length > MOST || !element || !place.contains(element) || element.closest("textarea, input, form")) return null;
  const end = [...range.getClientRects()].at(-1);
  if (!end) return null;
  const { top, bottom } = place.getBoundingClientRect();
  if (end.bottom < top || end.top > bottom) return null;
  return { words, x: Math.max(MARGIN, Math.min(end.right, innerWidth - 110)), y: Math.min(end.bottom + 4, bottom - 40) };
}
