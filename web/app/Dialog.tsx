// A modal dialog: Escape and a click beside it close it, the focus goes back to where it was. What has `data-first` in it
// gets the focus; `autoFocus` is too early, as a dialog that is not open yet takes none.

import { X } from "lucide-react";
import { type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { createPortal } from "react-dom";

import { useWords } from "./state";
import { words as table } from "./frame-words";

interface Props {
  readonly title: string;
  /** Absent: it stays until it is answered. */
  readonly onClose?: () => void;
  readonly className?: string;
  readonly children: ReactNode;
}

export function Dialog({ title, onClose, className, children }: Props) {
  const words = useWords(table);
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Not an effect that runs later: by then it is out of the document, and closing it gives no focus back.
  useLayoutEffect(() => {
    const shown = dialog.current;
    const before = document.activeElement;
    shown?.showModal();
    shown?.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => {
      shown?.close();
      queueMicrotask(() => takeCaret(before));
    };
  }, []);
  return createPortal(
    <dialog
      ref={dialog} className={className} aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose?.();
      }}
    >
      <div className="dialog-body">
        <h2 id={heading}>{title}</h2>
        {onClose && (
          <button type="button" className="icon dialog-close" aria-label={words.close} title={words.close} onClick={onClose}><X /></button>
        )}
        {children}
      </div>
    </dialog>,
    document.body, // where it stands nothing but its own styles reaches it
  );
}

// A field gets the focus back before the dialog is gone, and Chromium leaves it without a caret: what is typed is lost.
function takeCaret(field: Element | null): void {
  if (field !== document.activeElement || !(field instanceof HTMLTextAreaElement || field instanceof HTMLInputElement)) return;
  const { selectionStart, selectionEnd } = field;
  if (selectionStart !== null) field.setSelectionRange(selectionStart, selectionEnd); // null: a kind of field that has none
}
