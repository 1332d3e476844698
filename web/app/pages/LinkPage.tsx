// A link that somebody has opened who has to show who they are first: the page does it, and goes on to the chat.

import { useEffect, useState } from "react";

import { Refused } from "@chat-gateway/client";

import { useLanguage } from "../settings";
import { client, useWords } from "../state";
import { words as table } from "./links/link-words";
import { inWords } from "./problems";
import "./pages.css";

const secret = (): string => new URLSearchParams(location.hash.slice(1)).get("l") ?? "";

export default function LinkPage() {
  const words = useWords(table);
  const language = useLanguage();
  const [trouble, setTrouble] = useState<Error | null>(null);
  useEffect(() => {
    const token = secret();
    client.openLink(token).then(
      () => location.replace(new URL(`./s/${encodeURIComponent(token)}`, location.href).href),
      (error: unknown) => setTrouble(error as Error),
    );
  }, []);
  const isNothing = trouble instanceof Refused && trouble.status === 404;
  return (
    <section className="page">
      {trouble === null ? <p role="status">{words.opening}</p> : <p role="alert">{isNothing ? words.nothing : inWords(trouble, language)}</p>}
    </section>
  );
}
