// What the model is sent of a chat: everything, or a summary in the place of older messages; compress, and undo it.

import type { api } from "@chat-gateway/client";
import { useCallback, useEffect, useState } from "react";

import { noteInForce } from "../compressions";
import { Dialog } from "../Dialog";
import { localeOf, useTime } from "../pages/locale-formats";
import { inWords } from "../pages/problems";
import { useLanguage } from "../settings";
import { client, useWords } from "../state";
import { words as table } from "./sidebar-words";

interface Props {
  readonly session: string;
  readonly onClose: () => void;
}

export function History({ session, onClose }: Props) {
  const words = useWords(table);
  const language = useLanguage();
  const time = useTime();
  const [known, setList] = useState<api.CompressionList | null>(null);
  const setKnown = useCallback((list: api.CompressionList) => {
    setList(list);
    noteInForce(session, list);
  }, [session]);
  const [note, setNote] = useState("");
  const [isBusy, setBusy] = useState(false);
  const run = async (meanwhile: string, act: () => Promise<string>) => {
    setBusy(true);
    setNote(meanwhile);
    try {
      setNote(await act());
    } catch (error) {
      setNote(inWords(error as Error, language));
    }
    setBusy(false);
  };
  useEffect(() => {
    let isHere = true;
    client.compressions(session).then((list) => isHere && setKnown(list), (error: unknown) => isHere && setNote(inWords(error as Error, language)));
    return () => { isHere = false; };
  }, [session, language, setKnown]);
  const count = (tokens: number) => tokens.toLocaleString(localeOf(language));
  const tokens = ({ tokens_before: before, tokens_after: after }: api.CompressionVersion) => words.tokensFromTo(count(before), count(after));
  const compress = () => run(words.compressing, async () => {
    const made = await client.compress(session);
    setKnown(await client.compressions(session));
    return `${words.compressed(made.from_position, made.to_position)} ${tokens(made)}`;
  });
  const activate = (version: number) => run(words.loading, async () => {
    setKnown(await client.activateCompression(session, version));
    return words.inForce(version);
  });
  const store = () => run(words.loading, async () => {
    const { moved } = await client.connection.ask<api.Archived>("POST", `/api/sessions/${session}/archive`);
    return moved ? words.stored : words.storedAlready;
  });
  return (
    <Dialog title={words.history} onClose={onClose}>
      <p>{words.historyHint}</p>
      {known && known.versions.length > 0 && (
        <ul className="versions">
          <li>
            <button type="button" aria-pressed={(known.active ?? 0) === 0} disabled={isBusy} onClick={() => void activate(0)}>{words.everything}</button>
          </li>
          {known.versions.map((each) => (
            <li key={each.version}>
              <button type="button" aria-pressed={known.active === each.version} disabled={isBusy} onClick={() => void activate(each.version)}>
                {words.version(each.version, each.to_position)}
                <small>{tokens(each)} · {time(each.created_at)}</small>
              </button>
            </li>
          ))}
        </ul>
      )}
      <p role="status">{note}</p>
      <div className="buttons">
        <button type="button" className="primary" disabled={isBusy} onClick={() => void compress()}>{words.compress}</button>
        <button type="button" className="small" disabled={isBusy} onClick={() => void store()}>{words.store}</button>
      </div>
    </Dialog>
  );
}
