// What an edit changes of the prompt: sizes, cuts, and how much of its beginning the provider's cache still has.

import type { api } from "@chat-gateway/client";

export interface PartChange {
  readonly name: string;
  /** null: it was not there, or is not any more. */
  readonly before: api.PartReport | null;
  readonly after: api.PartReport | null;
}

export interface Difference {
  readonly changes: readonly PartChange[];
  /** The first part that the cache does not have; null: it has all of them. */
  readonly from: string | null;
  /** Tokens of the parts from there on. */
  readonly anew: number;
}

const partsOf = (prompt: api.PromptPreview): readonly api.PartReport[] => prompt.layers.flatMap(({ parts }) => parts);

const alike = (one: api.PartReport | undefined, other: api.PartReport | undefined) =>
  one?.name === other?.name && one?.digest === other?.digest && one?.tokens === other?.tokens && one?.truncated === other?.truncated;

export function differenceOf(before: api.PromptPreview, after: api.PromptPreview): Difference {
  const [old, now] = [partsOf(before), partsOf(after)];
  const names = [...new Set([...now, ...old].map(({ name }) => name))];
  const changes = names.flatMap((name) => {
    const [one, other] = [old, now].map((parts) => parts.find((part) => part.name === name));
    return alike(one, other) ? [] : [{ name, before: one ?? null, after: other ?? null }];
  });
  if (before.prefix_hash === after.prefix_hash) return { changes, from: null, anew: 0 };
  const first = now.findIndex((part, at) => !alike(part, old[at]));
  const rest = first < 0 ? [] : now.slice(first);
  return { changes, from: rest[0]?.name ?? changes[0]?.name ?? null, anew: rest.reduce((sum, { tokens }) => sum + tokens, 0) };
}
