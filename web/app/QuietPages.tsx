// Ways to the pages that are not in the list beside the chats: what one used, and for admins the administration.

import { caller } from "./caller";
import { words as frame } from "./frame-words";
import { QUIET_PAGES } from "./page-address";
import { app, go, useWords } from "./state";
import { useStore } from "./store";

export function useQuietPages(): readonly (typeof QUIET_PAGES)[number][] {
  const isAdmin = useStore(caller, ({ me }) => me?.is_admin === true);
  return QUIET_PAGES.filter((page) => page !== "admin" || isAdmin);
}

export function QuietPages() {
  const { pages } = useWords(frame);
  const shown = useQuietPages();
  return (
    <div className="buttons">
      {shown.map((page) => (
        <button key={page} type="button" className="small" onClick={() => {
          app.set({ settingsOpen: false });
          go({ page });
        }}>{pages[page]}</button>
      ))}
    </div>
  );
}
