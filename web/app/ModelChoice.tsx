// Which model the next message goes to: a choice where several are offered.

import { pickModel, useModel, useModels } from "./caller";
import { aboutModel, useDefaultModel, useKnownModels } from "./known-models";
import { useLanguage } from "./settings";
import { useMayWrite } from "./sidebar/shared-chats";
import { useApp, useWords } from "./state";
import { words as table } from "./frame-words";

export function ModelChoice({ session }: { readonly session: string | null }) {
  const words = useWords(table);
  const language = useLanguage();
  const health = useApp((state) => state.health);
  const mayWrite = useMayWrite(session);
  const models = useModels();
  const model = useModel(session);
  const found = useKnownModels();
  const only = useDefaultModel() ?? health?.model;
  const about = found?.models.find(({ id }) => id === (model ?? only));
  const hint = about && aboutModel(about, words, language);
  if (model === undefined || !mayWrite) return health && !health.demo ? <span className="model" title={hint}>{only}</span> : null;
  return (
    <select className="model" aria-label={words.model} title={hint === undefined ? words.modelHint : `${words.modelHint}: ${hint}`}
      value={model} onChange={(event) => pickModel(session, event.target.value)}>
      {models.map((each) => <option key={each}>{each}</option>)}
    </select>
  );
}
