// The picture that is looked at in full, and those beside it.

import { createStore, useStore } from "../store";
import type { FileInfo } from "./artifact-files";

export interface Enlarged {
  readonly pictures: readonly FileInfo[];
  readonly at: number;
}

const enlarged = createStore<{ readonly shown: Enlarged | null }>({ shown: null });

// Shows one of `pictures` in full; null: none any more.
export function enlarge(pictures: readonly FileInfo[], picture: FileInfo): void {
  enlarged.set({ shown: { pictures, at: Math.max(0, pictures.findIndex(({ ref }) => ref === picture.ref)) } });
}

export const closeEnlarged = (): void => enlarged.set({ shown: null });

export const useEnlarged = (): Enlarged | null => useStore(enlarged, ({ shown }) => shown);
