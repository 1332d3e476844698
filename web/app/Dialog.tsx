// A modal dialog: Escape and a click beside it close it, the focus goes back to where it was. What has `data-first` in it
// gets the focus; `autoFocus` is too early, as a dialog that is not open yet takes none.

import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";

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
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    shown?.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => shown?.close();
  }, []);
  return (
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
    </dialog>
  );
}
