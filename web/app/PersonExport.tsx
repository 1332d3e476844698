// Everything the server has of the reader, as one archive.

import { useAttempt } from "./attempt";
import { saveFile } from "./downloads";
import { words as table } from "./frame-words";
import { client, useWords } from "./state";

export function PersonExport() {
  const words = useWords(table);
  const [outcome, attempt] = useAttempt();
  const save = async () => {
    const file = await client.exportMe();
    saveFile(file, file.name || "me.zip");
    return words.exportedMe;
  };
  return (
    <div className="field">
      <span className="faint">{words.aboutMe}</span>
      <div className="buttons">
        <button type="button" className="small" onClick={() => void attempt(save)}>{words.exportMe}</button>
      </div>
      <small role="status" className={outcome.isFailure ? "trouble" : "faint"}>{outcome.text || words.aboutMeHint}</small>
    </div>
  );
}
