// What stood before the messages of a turn's calls, as its events tell, and what changed since the turn before it.

import { type Event, isKnown } from "@chat-gateway/client";

export interface Prefix {
  /** SHA-256 in hex of tools and system prompt. */
  readonly hash?: string;
  /** By component, the first 12 digits of its SHA-256. */
  readonly components: Readonly<Record<string, string>>;
  readonly instructionsTokens?: number;
  /** Codes of the reasons for which a new prompt generation began. */
  readonly reasons: readonly string[];
}

export interface PrefixChange {
  /** null: one of the two is not known. */
  readonly isSame: boolean | null;
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** No component changed, and the hash did: it was a tool, the memories, or what is carried of former sessions. */
  readonly beside: boolean;
}

const REASONS: ReadonlySet<string> = new Set(["prompt_changed", "memory_changed", "attachment_not_shown", "thinking_refused"]);

/** As of the last call among `events`, which are those of one turn. */
export function prefixOf(events: readonly Event[]): Prefix {
  let hash: string | undefined;
  let components: Readonly<Record<string, string>> = {};
  let instructionsTokens: number | undefined;
  const reasons: string[] = [];
  for (const event of events) {
    if (!isKnown(event)) continue;
    if (event.type === "iteration_start") {
      hash = event.data.prefix_hash ?? hash;
      if (event.data.components) {
        components = event.data.components;
        instructionsTokens = event.data.instructions_tokens;
      }
    } else if (event.type === "warning" && (event.data.reasons || REASONS.has(event.data.code))) {
      reasons.push(...event.data.reasons ?? [event.data.code]);
    }
  }
  return {
    components, reasons, ...(hash === undefined ? {} : { hash }), ...(instructionsTokens === undefined ? {} : { instructionsTokens }),
  };
}

export function changeOf(before: Prefix | undefined, now: Prefix): PrefixChange {
  const none = { added: [], changed: [], removed: [], beside: false };
  if (before?.hash === undefined || now.hash === undefined) return { isSame: null, ...none };
  if (before.hash === now.hash) return { isSame: true, ...none };
  const old = before.components, present = now.components;
  const added = Object.keys(present).filter((name) => !(name in old));
  const changed = Object.keys(present).filter((name) => name in old && old[name] !== present[name]);
  const removed = Object.keys(old).filter((name) => !(name in present));
  return { isSame: false, added, changed, removed, beside: added.length + changed.length + removed.length === 0 };
}
