// In the settings: what is known of the models that a message may go to.

import { useEffect } from "react";

import { aboutModel, readModels, useKnownModels } from "./known-models";
import { useLanguage } from "./settings";
import { useWords } from "./state";
import { words as table } from "./frame-words";

export function AboutModels() {
  const words = useWords(table);
  const language = useLanguage();
  const found = useKnownModels();
  useEffect(() => void readModels(), []);
  if (found === null) return null;
  return (
    <div className="field">
      <span className="faint">{words.models}</span>
      {found.models.map((each) => <small key={each.id}><b>{each.id}</b> {aboutModel(each, words, language)}</small>)}
      {found.notices.map((notice) => <small key={notice} className="trouble">{notice}</small>)}
    </div>
  );
}
