// A temporary chat ends when the reader opens another one.

import { app, client } from "../state";

let here: { readonly session: string; readonly isTemporary: boolean } | null = null;

// Begins to look after it; called once.
export function endTemporaryChats(): void {
  app.subscribe(() => {
    const { place: { session, page }, details } = app.get();
    if (page !== null) return; // a page beside the chat does not end it
    const left = here;
    if (session === null) here = null;
    else if (session !== left?.session || details?.id === session) here = { session, isTemporary: details?.id === session && details.temporary === true };
    // One in which a turn runs is refused: it goes a day after.
    if (left !== null && left.isTemporary && left.session !== session) void client.deleteSession(left.session).catch(() => undefined);
  });
}
