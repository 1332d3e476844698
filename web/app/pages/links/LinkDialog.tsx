// A link to a chat: a new one, and those that there are.

import type { api } from "@chat-gateway/client";
import { useCallback, useEffect, useState } from "react";

import { caller } from "../../caller";
import { CopyButton } from "../../CopyButton";
import { Dialog } from "../../Dialog";
import { client, useWords } from "../../state";
import { useStore } from "../../store";
import { usePageStatus } from "../page-status";
import { StatusLine } from "../StatusLine";
import { LinkRows } from "./LinkRows";
import { words as table } from "./link-words";
import "./links.css";

type Audience = api.LinkReply["audience"];

interface Props {
  readonly session: string;
  readonly onClose: () => void;
}

export default function LinkDialog({ session, onClose }: Props) {
  const words = useWords(table);
  const isForAnybody = useStore(caller, ({ me }) => me?.public_links === true);
  const { status, attempt } = usePageStatus();
  const [audience, setAudience] = useState<Audience>("signed_in");
  const [live, setLive] = useState(false);
  const [day, setDay] = useState("");
  const [made, setMade] = useState<string | null>(null);
  const [links, setLinks] = useState<readonly api.LinkReply[] | null>(null);
  const read = useCallback(() => attempt(async () => {
    setLinks((await client.links()).links.filter((link) => link.session_id === session));
    return undefined;
  }), [attempt, session]);
  useEffect(() => void read(), [read]);
  const create = () => attempt(async () => {
    const link = await client.createLink({
      session_id: session, audience, live, ...(day !== "" ? { expires_at: new Date(`${day}T23:59:59`).getTime() } : {}),
    });
    setMade(new URL(`.${link.path}`, location.href).href);
    setLinks((known) => [link, ...known ?? []]);
    return undefined;
  });
  const end = (link: api.LinkReply) => attempt(async () => {
    await client.endLink(link.id);
    setLinks((known) => known?.filter(({ id }) => id !== link.id) ?? null);
    return words.ended;
  });
  return (
    <Dialog title={words.title} className="link-dialog" onClose={onClose}>
      <p className="faint">{words.hint}</p>
      {isForAnybody && (
        <fieldset className="choices">
          <legend>{words.who}</legend>
          {(["signed_in", "anybody"] as const).map((each) => (
            <label key={each}><input type="radio" name="audience" checked={audience === each} onChange={() => setAudience(each)} />{words.audiences[each]}</label>
          ))}
        </fieldset>
      )}
      <fieldset className="choices">
        <label><input type="checkbox" checked={live} onChange={({ target }) => setLive(target.checked)} />{words.live}</label>
      </fieldset>
      <label className="field">{words.until}<input type="date" value={day} onChange={({ target }) => setDay(target.value)} /></label>
      <div className="buttons"><button type="button" className="primary" data-first onClick={() => void create()}>{words.create}</button></div>
      {made !== null && <div className="link-made" role="status"><p>{words.made}</p><code dir="ltr">{made}</code> <CopyButton text={() => made} /></div>}
      <StatusLine status={status} />
      {links !== null && links.length > 0 && <><h3>{words.mine}</h3><LinkRows links={links} onEnd={(link) => void end(link)} /></>}
    </Dialog>
  );
}
