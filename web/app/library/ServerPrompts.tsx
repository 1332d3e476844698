// The prompts that MCP servers offer, by server: to be looked at, as they are the servers' own.

import { useWords } from "../state";
import { words as table } from "./library-words";
import { useServerPrompts } from "./server-prompts";

export function ServerPrompts() {
  const words = useWords(table);
  const { servers } = useServerPrompts();
  if (servers === null || servers.length === 0) return null;
  return (
    <section aria-label={words.ofServers}>
      <div className="library-head"><h3>{words.ofServers}</h3></div>
      {servers.map(({ server, prompts, error }) => (
        <div key={server}>
          <h4 dir="auto">{server}</h4>
          {error !== undefined && <p className="trouble" dir="auto">{error}</p>}
          <ul>
            {prompts.map(({ name, title, description }) => (
              <li key={name}><span className="library-row"><b dir="auto">/{name}</b><small dir="auto">{[title, description].filter(Boolean).join(" · ")}</small></span></li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}
