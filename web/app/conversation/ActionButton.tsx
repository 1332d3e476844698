// A button that waits for what it does, and can be pressed again.

import { type ReactNode, useState } from "react";

import { useApp } from "../state";

interface Props {
  /** What goes wrong is told to `onTrouble`. */
  readonly act: () => Promise<unknown>;
  readonly onTrouble: (error: unknown) => void;
  readonly label?: string;
  readonly title?: string;
  readonly className?: string;
  readonly disabled?: boolean;
  readonly expanded?: boolean;
  readonly children: ReactNode;
}

export function ActionButton({ act, onTrouble, label, title, className = "small", disabled = false, expanded, children }: Props) {
  const isReplay = useApp(({ replay }) => replay !== null);
  const [isBusy, setBusy] = useState(false);
  const press = async () => {
    setBusy(true);
    onTrouble(null);
    try {
      await act();
    } catch (error) {
      onTrouble(error);
    }
    setBusy(false);
  };
  return (
    <button type="button" className={className} aria-label={label} title={title} aria-expanded={expanded}
      disabled={disabled || isBusy || isReplay} onClick={() => void press()}>
      {children}
    </button>
  );
}

// What went wrong beside it; read out when it appears.
export function Trouble({ children }: { readonly children: ReactNode }) {
  return <span className="why" role="alert">{children}</span>;
}
