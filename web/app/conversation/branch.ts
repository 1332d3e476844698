// Which branch is shown: the one in which turns go on, which the log alone does not tell.

import { show } from "@chat-gateway/client";

import { loadOlder } from "../live";
import { app, client } from "../state";

const MAX_PAGES = 20; // that are read to find it

// Shows the active branch of a session that was just opened.
export async function showActiveBranch(session: string): Promise<void> {
  const { tip: shown, newest } = app.get().conversation;
  const { active, branches } = await client.branches(session);
  if (branches.length < 2 || app.get().conversation.tip !== shown) return; // the reader went to another one meanwhile
  const tip = branches.find(({ branch }) => branch === active)?.last_turn_id;
  if (tip === undefined) return;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const { conversation, place } = app.get();
    // A turn that began meanwhile is in the active branch, and shown: the answer may be older.
    if (place.session !== session || conversation.newest !== newest || conversation.path.at(-1) === tip) return;
    if (conversation.turns.has(tip)) {
      app.set({ conversation: show(conversation, tip) });
      return;
    }
    if (conversation.first <= 1) return;
    await loadOlder();
  }
}
