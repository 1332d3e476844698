// A link that somebody has opened who has to show who they are first: the page does it, and goes on to the chat. Or one whose
// chat they continue in one of their own: it is read as any browser reads it, and what was said begins the new chat.

import { emptyConversation, reduceAll, Refused } from "@chat-gateway/client";
import { useEffect, useState } from "react";

import { readChat } from "../../reader/chat-data";
import { copyChat } from "../conversation/fork";
import { useLanguage } from "../settings";
import { client, useWords } from "../state";
import { words as table } from "./links/link-words";
import { inWords } from "./problems";
import "./pages.css";

export default function LinkPage() {
  const words = useWords(table);
  const language = useLanguage();
  const [trouble, setTrouble] = useState<Error | null>(null);
  useEffect(() => {
    const ending = new AbortController();
    const { signal } = ending;
    follow(new URLSearchParams(location.hash.slice(1)), signal).catch((error: unknown) => {
      if (!signal.aborted) setTrouble(error as Error);
    });
    return () => ending.abort();
  }, []);
  const isNothing = trouble instanceof Refused && trouble.status === 404;
  return (
    <section className="page">
      {trouble === null ? <p role="status">{words.opening}</p> : <p role="alert">{isNothing ? words.nothing : inWords(trouble, language)}</p>}
    </section>
  );
}

async function follow(asked: URLSearchParams, signal: AbortSignal): Promise<void> {
  const token = asked.get("l") ?? asked.get("c") ?? "";
  const path = `/s/${encodeURIComponent(token)}`;
  await client.openLink(token);
  signal.throwIfAborted();
  if (asked.has("l")) {
    location.replace(new URL(`.${path}`, location.href).href);
    return;
  }
  const response = await client.connection.send(path, { signal });
  const page = (await response.text()).replace(/<style>.*?<\/style>/s, ""); // which the page's policy would refuse
  const { events, title } = readChat(new DOMParser().parseFromString(page, "text/html"));
  signal.throwIfAborted();
  await copyChat(reduceAll(emptyConversation(), events), title);
}
