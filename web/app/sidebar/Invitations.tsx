// The projects that the reader is asked into: nothing of them is in their lists before they say yes.

import type { api } from "@chat-gateway/client";
import { useCallback, useEffect, useState } from "react";

import { caller } from "../caller";
import { inWords } from "../pages/problems";
import { useLanguage } from "../settings";
import { client, useWords } from "../state";
import { useStore } from "../store";
import { chats } from "./chats";
import { showNotice } from "./notice";
import { words as table } from "./share-words";

export function Invitations() {
  const words = useWords(table);
  const language = useLanguage();
  const isOfMany = useStore(caller, ({ me }) => me?.has_key === true); // who is alone is asked by nobody
  const [invitations, setInvitations] = useState<readonly api.InvitationReply[]>([]);
  const read = useCallback(() => client.invitations().then(
    (found) => setInvitations(found.invitations),
    () => undefined, // what is not known is not shown
  ), []);
  useEffect(() => {
    if (isOfMany) void read();
  }, [isOfMany, read]);
  const answer = (act: () => Promise<unknown>) => act().then(read, async (error: unknown) => {
    showNotice({ text: inWords(error as Error, language) });
    await read();
  });
  if (invitations.length === 0) return null;
  return (
    <section aria-label={words.invitations} className="invitations">
      {invitations.map(({ project_id: id, name, role, invited_by: by }) => (
        <div key={id} className="card">
          <p dir="auto">{words.asks(by, name, words.roles[role])}</p>
          <button type="button" className="small" onClick={() => void answer(() => client.acceptInvitation(id).then(() => chats.readShared()))}>{words.accept}<span className="unseen"> {name}</span></button>
          <button type="button" className="small" onClick={() => void answer(() => client.declineInvitation(id))}>{words.decline}<span className="unseen"> {name}</span></button>
        </div>
      ))}
    </section>
  );
}
