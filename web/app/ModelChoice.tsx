// Which model the next message goes to: a choice where several are offered.

import { pickModel, useModel, useModels } from "./caller";
import { useApp, useWords } from "./state";
import { words as table } from "./frame-words";

export function ModelChoice({ session }: { readonly session: string | null }) {
  const words = useWords(table);
  const health = useApp((state) => state.health);
  const isReplay = useApp((state) => state.replay !== null);
  const models = useModels();
  const model = useModel(session);
  if (model === undefined || isReplay) return health && !health.demo ? <span className="model">{health.model}</span> : null;
  return (
    <select className="model" aria-label={words.model} title={words.modelHint} value={model} onChange={(event) => pickModel(session, event.target.value)}>
      {models.map((each) => <option key={each}>{each}</option>)}
    </select>
  );
}
