// Another chat that begins with what was said in this one, up to an answer: what was said and attached, not what tools did.

import { answer, type api, type Conversation, type Turn } from "@chat-gateway/client";

import { loadOlder } from "../live";
import { chats } from "../sidebar/chats";
import { app, client, go } from "../state";
import { withoutThinking } from "./thinking";
import { isWithdrawn } from "./withdrawn";

const MOST = 1_000; // messages that a chat can begin with: the newest of them
const MOST_TITLE = 200; // characters

interface Ways {
  readonly title: string;
  /** Files go along where the chat is the reader's. */
  readonly isOwn: boolean;
}

/** Makes the chat and goes there. Throws what the server refuses. */
export async function fork(session: string, turn: string, { title, isOwn }: Ways): Promise<void> {
  const isHere = () => app.get().conversation.sessionId === session;
  const saidUpTo = () => saidIn(app.get().conversation, turn, isOwn);
  while (isHere() && app.get().conversation.first > 1 && saidUpTo().length < MOST) await loadOlder();
  if (!isHere()) return; // the reader has gone elsewhere
  const { details } = app.get();
  await beginChat(title, saidUpTo(), {
    ...(isOwn && details?.project_id !== undefined ? { project_id: details.project_id } : {}),
    ...(isOwn && details?.instructions !== undefined ? { instructions: details.instructions } : {}),
  });
}

/** Makes a chat of the reader's with all that was said in another's, and goes there. Throws what the server refuses. */
export async function copyChat(conversation: Conversation, title: string): Promise<void> {
  await beginChat(title, saidIn(conversation, conversation.path.at(-1), false));
}

async function beginChat(title: string, messages: readonly api.SeedBody[], more: api.SessionBody = {}): Promise<void> {
  const { id } = await client.createSession({ title: title.slice(0, MOST_TITLE), messages: beginning(messages), ...more });
  chats.showShared(false); // it is the reader's own, and seen in their list
  await chats.refresh();
  go({ session: id });
}

function saidIn({ path, turns }: Conversation, upTo: string | undefined, isOwn: boolean): api.SeedBody[] {
  return path.slice(0, upTo === undefined ? 0 : path.indexOf(upTo) + 1).flatMap((id) => {
    const each = turns.get(id);
    return each?.start === undefined || isWithdrawn(each) ? [] : said(each, isOwn);
  });
}

function said(turn: Turn, isOwn: boolean): api.SeedBody[] {
  const files = isOwn ? turn.attachments : [];
  const names = isOwn ? [] : turn.attachments.map(({ name }) => `[${name}]`);
  const content = [...names, turn.input].filter(Boolean).join("\n") || (files.length > 0 ? "" : "…");
  const answered = withoutThinking(answer(turn)).trim();
  return [
    { role: "user", content, ...(files.length > 0 ? { attachments: files.map(({ ref }) => ({ ref })) } : {}) },
    ...(answered === "" ? [] : [{ role: "assistant" as const, content: answered }]),
  ];
}

// The newest ones, from a message of the user on.
function beginning(messages: readonly api.SeedBody[]): api.SeedBody[] {
  const newest = messages.slice(-MOST);
  return newest.slice(newest.findIndex(({ role }) => role === "user"));
}
