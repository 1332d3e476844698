// A chat on paper: all of its turns are read and drawn first.

import { loadOlder } from "../live";
import { announce, app, go } from "../state";
import { words } from "../sidebar/sidebar-words";
import { languageNow } from "../settings";
import { isReading } from "./markdown/queues";
import { setPrinting } from "./printing";

const MOST = 2_000; // turns: as many as a browser lays out in some seconds
const OPEN_MS = 10_000; // in which a chat comes to the screen
const READ_MS = 60_000; // in which all of it is read
const PAUSE_MS = 300; // longer than code waits for its colours

const pause = (ms = PAUSE_MS) => new Promise((resolve) => setTimeout(resolve, ms));

/** Shows the chat, with all that is known of it, and asks the browser to print it. Of a longer chat than that of `MOST`
 * turns the older ones are not there, and the paper says so. */
export async function printChat(session: string | null = app.get().place.session): Promise<void> {
  if (session !== null && (app.get().place.session !== session || app.get().place.page !== null)) go({ session });
  announce(words[languageNow()].preparingPrint);
  await until(() => app.get().state === "ready", OPEN_MS);
  if (app.get().replay === null) {
    while (app.get().conversation.first > 1 && app.get().conversation.path.length < MOST) await loadOlder();
  }
  setPrinting(true);
  await pause();
  await until(() => !isReading(), READ_MS);
  print();
}

async function until(isTrue: () => boolean, most: number): Promise<void> {
  for (let waited = 0; !isTrue() && waited < most; waited += PAUSE_MS) await pause();
}
