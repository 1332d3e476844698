// The list of the keys.

import { Dialog } from "../Dialog";
import { useIsDeveloper, useSettings } from "../settings";
import { useWords } from "../state";
import { useStore } from "../store";
import { allowSingleKeys, chordText, commands, commandsOf, isMac, KEYS } from "./commands";
import { words as table } from "./sidebar-words";

export function Shortcuts() {
  const words = useWords(table);
  const mac = isMac();
  const singleKeys = useStore(commands, (state) => state.singleKeys);
  const enterSends = useSettings((value) => value.enterSends);
  const everywhere = commandsOf(useIsDeveloper()).map((name) => [chordText(KEYS[name], mac), words[name]] as const);
  const parts = [
    [words.keysEverywhere, everywhere],
    [words.keysChats, [["↑ ↓", words.moveInList], ["Enter", words.openChat], ["F2", words.rename], [mac ? "⌦" : "Del", words.delete]]],
    [words.keysConversation, [...(enterSends ? [["Enter", words.sendMessage], ["Shift+Enter", words.newLine]] as const : [[mac ? "⌘Enter" : "Ctrl+Enter", words.sendMessage], ["Enter", words.newLine]] as const), ["↑", words.editLast], ["Esc", words.stopAnswer]]],
  ] as const;
  return (
    <Dialog title={words.keysTitle} className="keys" onClose={() => commands.set({ open: null })}>
      {parts.map(([heading, keys]) => (
        <section key={heading}>
          <h3>{heading}</h3>
          <dl>
            {keys.map(([chord, name]) => <div key={name}><dt>{name}</dt><dd><kbd>{chord}</kbd></dd></div>)}
          </dl>
        </section>
      ))}
      <label className="check">
        <input type="checkbox" checked={singleKeys} aria-describedby="single-keys-hint" onChange={(event) => allowSingleKeys(event.target.checked)} />
        {words.singleKeys}
      </label>
      <p id="single-keys-hint" className="faint">{words.singleKeysHint}</p>
    </Dialog>
  );
}
