// The reader's links to chats.

import type { api } from "@chat-gateway/client";
import { useEffect, useState } from "react";

import { client, useWords } from "../state";
import { usePageStatus } from "./page-status";
import { StatusLine } from "./StatusLine";
import { LinkRows } from "./links/LinkRows";
import { words as table } from "./links/link-words";
import "./pages.css";
import "./links/links.css";

export default function LinksPage() {
  const words = useWords(table);
  const { status, attempt } = usePageStatus();
  const [links, setLinks] = useState<readonly api.LinkReply[] | null>(null);
  useEffect(() => void attempt(async () => {
    setLinks((await client.links()).links);
    return undefined;
  }), [attempt]);
  const end = (link: api.LinkReply) => attempt(async () => {
    await client.endLink(link.id);
    setLinks((known) => known?.filter(({ id }) => id !== link.id) ?? null);
    return words.ended;
  });
  return (
    <section className="page">
      <p className="faint">{words.all}</p>
      <StatusLine status={status} />
      {links !== null && <LinkRows links={links} hasTitles onEnd={(link) => void end(link)} />}
    </section>
  );
}
