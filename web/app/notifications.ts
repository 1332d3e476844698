// Tells a reader who is elsewhere that a long answer is there, or that a call waits for them. Only who has asked for it.

import { now } from "./clock";
import { fill } from "./conversation/speech";
import { hashOf, NEW_CHAT } from "./page-address";
import { pageSettings } from "./page-settings";
import { languageNow, settings } from "./settings";
import { chats } from "./sidebar/chats";
import { words as chatWords } from "./sidebar/sidebar-words";
import { go } from "./state";
import { words as table } from "./notification-words";

const LONG_MS = 15_000; // of what somebody does not wait for at the screen

export const canNotify = (): boolean => "Notification" in window && isSecureContext;

// Whether the reader lets the page tell them; asks where that is not known yet.
export async function askToNotify(): Promise<boolean> {
  return await Notification.requestPermission() === "granted";
}

// Begins to watch the list of chats, which tells of all of them; called once. Returns what ends it.
export function keepNotifying(): () => void {
  const began = new Map<string, number>(); // when each chat that runs was first seen to
  let known: ReadonlySet<string> | null = null; // the calls that were told of, or there before
  return chats.store.subscribe(() => {
    const { chats: all, approvals, state } = chats.store.get();
    if (state !== "ready") return;
    const words = table[languageNow()];
    for (const { id, title, status } of all) {
      const since = began.get(id);
      if (status !== undefined) {
        if (since === undefined) began.set(id, now());
        continue;
      }
      began.delete(id);
      if (since !== undefined && now() - since >= LONG_MS) void tell(id, title, words.answered);
    }
    const waiting = new Set(approvals.map(({ session_id: session, tool_call_id: call }) => `${session} ${call}`));
    for (const { session_id: session, tool_call_id: call, name } of approvals) {
      if (known !== null && !known.has(`${session} ${call}`)) void tell(session, all.find(({ id }) => id === session)?.title, fill(words.waits, { name }));
    }
    known = waiting;
  });
}

async function tell(session: string, title: string | undefined, body: string): Promise<void> {
  if (!settings.get().notify || !document.hidden || !canNotify() || Notification.permission !== "granted") return;
  const address = new URL(hashOf({ ...NEW_CHAT, session }), location.href).href;
  // Of several tabs all tell the same: the browser shows what has one tag once.
  const options = { body, tag: `gateway ${session}`, icon: pageSettings.logo ? "./logo" : "./assets/app-icon-192.png", data: address };
  const name = title ?? chatWords[languageNow()].untitled;
  const worker = "serviceWorker" in navigator ? await navigator.serviceWorker.getRegistration() : undefined;
  if (worker?.active) return worker.showNotification(name, options); // on phones there is no other way
  const shown = new Notification(name, options);
  shown.onclick = () => {
    window.focus();
    go({ session });
    shown.close();
  };
}
