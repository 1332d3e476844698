// A button that opens a menu of actions: arrow keys move in it, Escape closes it and gives the focus back.

import { type KeyboardEvent, type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { createPortal } from "react-dom";

export interface Action {
  readonly label: string;
  readonly icon?: ReactNode;
  readonly isDangerous?: boolean;
  /** What an assistive tool says beside the label, and the menu shows: a key. */
  readonly hint?: string;
  /** A line below the label: what becomes of it. */
  readonly explanation?: string;
  readonly act: () => void;
}

interface Props {
  readonly label: string;
  readonly icon: ReactNode;
  readonly actions: readonly Action[];
  readonly tabIndex?: number;
  readonly className?: string;
}

const MARGIN = 8; // pixels between the menu and the edge of the window

export function Menu({ label, icon, actions, tabIndex, className }: Props) {
  const [isOpen, setOpen] = useState(false);
  const [button, setButton] = useState<HTMLButtonElement | null>(null);
  const id = useId();
  const close = (isFocused: boolean) => {
    setOpen(false);
    if (isFocused) button?.focus();
  };
  return (
    <>
      <button
        ref={setButton} type="button" className={`icon ${className ?? ""}`} aria-haspopup="menu" aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined} aria-label={label} title={label} tabIndex={tabIndex}
        onClick={() => setOpen(!isOpen)}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown") return;
          event.preventDefault();
          event.stopPropagation();
          setOpen(true);
        }}
      >{icon}</button>
      {isOpen && button && createPortal(
        <Items id={id} label={label} actions={actions} button={button} onClose={close} />, button.closest("nav, main") ?? document.body, // within a landmark
      )}
    </>
  );
}

interface ItemsProps {
  readonly id: string;
  readonly label: string;
  readonly actions: readonly Action[];
  readonly button: HTMLElement;
  readonly onClose: (isFocused: boolean) => void;
}

function Items({ id, label, actions, button, onClose }: ItemsProps) {
  const menu = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!menu.current) return;
    place(menu.current, button);
    menu.current.querySelector<HTMLElement>("[role=menuitem]")?.focus({ preventScroll: true });
  }, [button]);
  useEffect(() => {
    const ending = new AbortController();
    const leave = (event: Event) => {
      const at = event.target as Node;
      if (!menu.current?.contains(at) && !button.contains(at)) onClose(false);
    };
    document.addEventListener("pointerdown", leave, { signal: ending.signal, capture: true });
    addEventListener("resize", () => onClose(false), { signal: ending.signal });
    return () => ending.abort();
  });
  const move = (event: KeyboardEvent) => {
    event.stopPropagation(); // of the keys that hold for the list behind it
    const items = [...menu.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? []];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") onClose(true);
    else if (to !== undefined) items.at(to % items.length)?.focus();
    else return;
    event.preventDefault();
  };
  return (
    <div ref={menu} id={id} className="actions-menu" role="menu" aria-label={label} tabIndex={-1} onKeyDown={move}>
      {actions.map(({ label: name, icon, hint, explanation, isDangerous, act }) => (
        <button
          key={name} type="button" role="menuitem" tabIndex={-1} data-dangerous={isDangerous}
          onClick={() => {
            onClose(true);
            act();
          }}
        >{icon}<span>{name}{explanation !== undefined && <> <small>{explanation}</small></>}</span>{hint !== undefined && <kbd>{hint}</kbd>}</button>
      ))}
    </div>
  );
}

// Below the button, or above it where there is more room.
function place(menu: HTMLElement, button: HTMLElement): void {
  const { bottom, top, right } = button.getBoundingClientRect();
  const { offsetHeight: height, offsetWidth: width } = menu;
  const isBelow = bottom + height + MARGIN <= innerHeight || top < height + MARGIN;
  menu.style.top = `${Math.max(MARGIN, isBelow ? Math.min(bottom + 4, innerHeight - height - MARGIN) : top - height - 4)}px`;
  menu.style.left = `${Math.max(MARGIN, Math.min(right - width, innerWidth - width - MARGIN))}px`;
}
