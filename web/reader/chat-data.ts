// The chat of a shared page, out of the blocks of data in it.

import { type Event, parseExact } from "@chat-gateway/client";

import { LANGUAGES, type Language } from "../app/language";

export interface SharedChat {
  readonly title: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** As it was chosen when the page was made; null: the reader's. */
  readonly language: Language | null;
  /** With all turns, their times and their ids: for who looks into what happened. */
  readonly isReplay: boolean;
  readonly events: readonly Event[];
  /** The addresses of its pictures by their references. */
  readonly pictures: Readonly<Record<string, string>>;
  /** A line of it could not be read. */
  readonly isDamaged: boolean;
  /** It is read at its gateway, by a link. */
  readonly isLinked: boolean;
  /** It was too large for a page, which ends before it does. */
  readonly isCut: boolean;
}

const PICTURE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*$/;

export function readChat(page: Document = document): SharedChat {
  const linesOf = (id: string) => valuesIn(page.getElementById(id)?.textContent ?? "");
  const about = (linesOf("about")[0] ?? {}) as Readonly<Record<string, unknown>>;
  const events = linesOf("events");
  const pictures = linesOf("pictures").flatMap((each) => {
    const { ref, address } = (each ?? {}) as Readonly<Record<string, unknown>>;
    return typeof ref === "string" && typeof address === "string" && PICTURE.test(address) ? [[ref, address] as const] : [];
  });
  return {
    title: typeof about.title === "string" ? about.title : "",
    createdAt: typeof about.created_at === "number" ? about.created_at : 0,
    language: LANGUAGES.find((each) => each === about.language) ?? null,
    isReplay: about.replay === true,
    events: events.filter(isEvent),
    pictures: Object.fromEntries(pictures),
    isDamaged: !events.every(isEvent) || about.title === undefined,
    isLinked: about.linked === true,
    isCut: about.is_cut === true,
  };
}

// One value a line; undefined where a line is none.
function valuesIn(text: string): unknown[] {
  return text.split("\n").filter((line) => line !== "").map((line) => {
    try {
      return parseExact(line);
    } catch {
      return undefined;
    }
  });
}

function isEvent(value: unknown): value is Event {
  const event = (value ?? {}) as Partial<Event>;
  return Number.isSafeInteger(event.seq) && Number.isSafeInteger(event.ts) && typeof event.type === "string"
    && typeof event.turn_id === "string" && typeof event.data === "object" && (event.data as unknown) !== null;
}
