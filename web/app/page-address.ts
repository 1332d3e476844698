// What the address says: `#s=ID` is a session, `#s=ID&t=TURN` a turn of it, `#p=NAME` a page, `#l=SECRET` a link to be
// opened by whoever shows who they are, `#c=SECRET` one whose chat they continue in one of their own.

export const PAGES = ["inbox", "memory", "skills", "artifacts", "schedules", "webhooks", "prompts"] as const;
/** Pages to which no way is shown in the list: the settings have one, and the palette. */
export const QUIET_PAGES = ["usage", "links", "admin"] as const;
export type Page = (typeof PAGES)[number] | (typeof QUIET_PAGES)[number] | "link";

type ListedPage = (typeof PAGES)[number];

const FOR_DEVELOPERS: ReadonlySet<Page> = new Set<Page>(["webhooks", "prompts"]);

// The pages to which ways are shown. A link leads to any of them.
export const pagesOf = (isDeveloper: boolean): readonly ListedPage[] => PAGES.filter((page) => isDeveloper || !FOR_DEVELOPERS.has(page));

// No session and no page: a new chat.
export interface Place {
  readonly session: string | null;
  readonly turn: string | null;
  readonly page: Page | null;
}

export const NEW_CHAT: Place = { session: null, turn: null, page: null };

const MOST_ASKED = 20_000; // characters
const ID = /^[\w-]{1,64}$/;

export function placeOf(hash: string): Place {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const session = idOf(parts.get("s"));
  if (parts.has("l") || parts.has("c")) return { ...NEW_CHAT, page: "link" };
  const page = [...PAGES, ...QUIET_PAGES].find((each) => each === parts.get("p")) ?? null;
  return { session, turn: session === null ? null : idOf(parts.get("t")), page };
}

// The message that an address brings along, `?q=…`, and what is left of the address without it.
export function askedIn(search: string): { readonly asked: string; readonly rest: string } {
  const parts = new URLSearchParams(search);
  const asked = parts.get("q")?.slice(0, MOST_ASKED).trim() ?? "";
  parts.delete("q");
  return { asked, rest: parts.size > 0 ? `?${parts.toString()}` : "" };
}

// What stands behind the path of the address; empty for a new chat.
export function hashOf({ session, turn, page }: Place): string {
  const parts = new URLSearchParams();
  if (session !== null) parts.set("s", session);
  if (session !== null && turn !== null) parts.set("t", turn);
  if (page !== null) parts.set("p", page);
  return parts.size > 0 ? `#${parts.toString()}` : "";
}

function idOf(text: string | null): string | null {
  return text !== null && ID.test(text) ? text : null;
}
