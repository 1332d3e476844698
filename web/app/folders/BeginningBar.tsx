// Above the field of a new chat: the folder, persona and instructions that it begins with, each of which can be left out.

import { FolderClosed, ScrollText, Timer, UserRound, X } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";

import { pickModel, useModels } from "../caller";
import { readSavedPrompts, usePersonas } from "../library/saved-prompts";
import { useWords } from "../state";
import { beginWith, useBeginning } from "./beginning";
import { folderOf, useFolders } from "./folders";
import { words as table } from "./folder-words";
import "./beginning.css";

const InstructionsDialog = lazy(() => import("./InstructionsDialog").then(({ InstructionsDialog }) => ({ default: InstructionsDialog })));

export function BeginningBar() {
  const words = useWords(table);
  const { folder, persona, instructions, isTemporary } = useBeginning();
  const [isAsked, ask] = useState(false);
  const personas = usePersonas();
  const models = useModels();
  useFolders();
  useEffect(() => void readSavedPrompts(), []);
  const name = folderOf(folder ?? undefined)?.name;
  const begun = personas.find(({ id }) => id === persona);
  const choose = (id: string) => {
    const chosen = personas.find((each) => each.id === id);
    beginWith({ persona: chosen?.id ?? null, instructions: chosen?.text ?? null });
    if (chosen?.model !== undefined && models.includes(chosen.model)) pickModel(null, chosen.model);
  };
  return (
    <div className="beginning" role="group" aria-label={words.options}>
      {name !== undefined && <Chip icon={<FolderClosed aria-hidden />} label={words.inFolder(name)} without={words.leaveOut(name)} onEnd={() => beginWith({ folder: null })} />}
      {personas.length > 0 && begun === undefined && instructions === null && (
        <label className="begin-chip">
          <UserRound aria-hidden /><span className="unseen">{words.persona}</span>
          <select value="" onChange={({ target }) => choose(target.value)}>
            <option value="">{words.persona}</option>
            {personas.map((each) => <option key={each.id} value={each.id}>{each.name}</option>)}
          </select>
        </label>
      )}
      {begun && <Chip icon={<UserRound aria-hidden />} label={begun.name} without={words.leaveOut(begun.name)} onEnd={() => choose("")} />}
      <span className="begin-chip" data-set={instructions !== null && begun === undefined}>
        <button type="button" onClick={() => ask(true)}><ScrollText aria-hidden />{instructions === null ? words.addInstructions : words.hasInstructions}</button>
      </span>
      <span className="begin-chip" data-set={isTemporary}>
        <button type="button" aria-pressed={isTemporary} title={words.temporaryHint} onClick={() => beginWith({ isTemporary: !isTemporary })}><Timer aria-hidden />{words.temporary}</button>
      </span>
      {isTemporary && <p className="begin-note">{words.temporaryHint}</p>}
      {isAsked && <Suspense><InstructionsDialog session={null} onClose={() => ask(false)} /></Suspense>}
    </div>
  );
}

interface ChipProps {
  readonly icon: ReactNode;
  readonly label: string;
  readonly without: string;
  readonly onEnd: () => void;
}

function Chip({ icon, label, without, onEnd }: ChipProps) {
  return (
    <span className="begin-chip" data-set="true">
      {icon}<span dir="auto">{label}</span>
      <button type="button" className="icon" aria-label={without} title={without} onClick={onEnd}><X /></button>
    </span>
  );
}
