// Chats of other products: what is in a file, and what becomes of each of them.

import { Refused } from "@chat-gateway/client";

import { client } from "../state";

export interface ForeignChat {
  /** In the file, from 1. */
  readonly number: number;
  readonly state: "new" | "there" | "imported" | "refused";
  readonly title?: string;
  readonly updated_at?: number;
  readonly messages?: number;
  readonly left_out?: number;
  readonly session_id?: string;
  readonly reason?: string;
}

type Line = ({ readonly kind: "chat" } & ForeignChat) | { readonly kind: "end" } | { readonly kind: "error"; readonly code: string; readonly message: string };

// Whether a file is none of ours: a zip file, or JSON that does not begin as our exports do.
export async function isForeign(file: Blob): Promise<boolean> {
  const begins = (await file.slice(0, 64).text()).replace(/^\uFEFF/, "").trimStart();
  return begins.startsWith("PK") || begins.startsWith("[") || (begins.startsWith("{") && !begins.startsWith('{"kind":'));
}

interface Ways {
  /** Numbers, as `ranges` writes them; absent: all. */
  readonly only?: string;
  readonly preview?: boolean;
  readonly onChat: (chat: ForeignChat) => void;
  readonly signal: AbortSignal;
}

// Tells of each chat as it is done. Throws what the server refuses, and what breaks off.
export async function importForeign(file: Blob, { only, preview = false, onChat, signal }: Ways): Promise<void> {
  const query = { ...(preview ? { preview: "true" } : {}), ...(only === undefined ? {} : { only }) };
  const headers = { "Content-Type": "application/octet-stream", "Accept": "application/x-ndjson" };
  const response = await client.connection.send("/api/import/chats", { method: "POST", body: file, headers, signal }, query);
  let rest = "";
  let last: Line["kind"] | undefined;
  const take = (text: string) => {
    const said = JSON.parse(text) as Line;
    last = said.kind;
    if (said.kind === "chat") onChat(said);
    else if (said.kind === "error") throw new Refused(500, said);
  };
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
    const lines = (rest + read.value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(line);
  }
  if (last !== "end") throw new TypeError("The answer broke off.");
}

// 1, 2, 3, 7 → "1-3,7".
export function ranges(numbers: Iterable<number>): string {
  const found: [number, number][] = [];
  for (const number of [...numbers].sort((one, other) => one - other)) {
    const last = found.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else found.push([number, number]);
  }
  return found.map(([first, last]) => first === last ? String(first) : `${first}-${last}`).join();
}
