// What happened to a schedule of this chat, in one sentence, and the way to the page of all of them.

import type { Schedule } from "@chat-gateway/client";

import { words as table } from "../pages/schedules/schedule-words";
import { hashOf, NEW_CHAT } from "../page-address";
import { useWords } from "../state";
import { words as frame } from "../frame-words";

export function ScheduleLine({ data: { action, name } }: { readonly data: Schedule }) {
  const words = useWords(table);
  const { pages } = useWords(frame);
  const text = (words.events as Readonly<Record<string, ((name: string) => string) | undefined>>)[action]?.(name) ?? name;
  const isTrouble = action === "missed" || action === "refused";
  return (
    <p className={isTrouble ? "note schedule trouble" : "note schedule"}>
      <span dir="auto">{text}</span> <a href={hashOf({ ...NEW_CHAT, page: "schedules" })}>{pages.schedules}</a>
    </p>
  );
}
