// The card of something that works while its switch is on: what it is, what can be done with it, and below what became of it.

import { Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";

import { useWords } from "../state";
import type { PageStatus } from "./page-status";
import { words as pageWords } from "./page-words";
import { codeOf } from "./problems";

interface Props {
  readonly icon: ReactNode;
  readonly name: string;
  readonly direction?: "auto" | "ltr";
  readonly facts: ReactNode;
  readonly content?: ReactNode;
  /** Absent where it can be switched no more. */
  readonly toggle?: { readonly isOn: boolean; readonly label: string; readonly act: () => void } | undefined;
  readonly action: { readonly text: string; readonly icon: ReactNode; readonly act: () => void };
  /** What became of it is shown by `children`. */
  readonly details: { readonly text: string; readonly isOpen: boolean; readonly onToggle: () => void };
  /** `missing`: the code that says that it is gone already. */
  readonly deletion: { readonly act: () => Promise<unknown>; readonly missing: string; readonly told: string; readonly onGone: () => void };
  /** What a button is called, beside those of other cards. */
  readonly actionOf: (action: string, name: string) => string;
  readonly attempt: PageStatus["attempt"];
  readonly children: ReactNode;
}

export function SwitchCard({ icon, name, direction = "auto", facts, content, toggle, action, details, deletion, actionOf, attempt, children }: Props) {
  const common = useWords(pageWords);
  const [isAsked, ask] = useState(false);
  const label = (text: string) => actionOf(text, name);
  const remove = () => attempt(async () => {
    try {
      await deletion.act();
    } catch (error) {
      if (codeOf(error) !== deletion.missing) throw error;
    }
    deletion.onGone();
    return deletion.told;
  });
  return (
    <li className="card switch-card">
      <div className="card-head">
        {icon}
        <b className="name" dir={direction}>{name}</b>
        <small>{facts}</small>
        {toggle && <button type="button" role="switch" className="switch" aria-checked={toggle.isOn} aria-label={toggle.label} onClick={toggle.act} />}
      </div>
      {content}
      <div className="buttons">
        <button type="button" className="small" aria-expanded={details.isOpen} aria-label={label(details.text)} onClick={details.onToggle}>{details.text}</button>
        <button type="button" className="small" aria-label={label(action.text)} onClick={action.act}>{action.icon}{action.text}</button>
        {isAsked ? (
          <>
            <button type="button" className="small dangerous" autoFocus aria-label={label(common.deleteNow)} onClick={() => void remove()}>{common.deleteNow}</button>
            <button type="button" className="small" onClick={() => ask(false)}>{common.cancel}</button>
          </>
        ) : (
          <button type="button" className="small" aria-label={label(common.delete)} onClick={() => ask(true)}><Trash2 aria-hidden="true" />{common.delete}</button>
        )}
      </div>
      {details.isOpen && children}
    </li>
  );
}
