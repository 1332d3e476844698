// What a page lists on cards, to which a form adds one.

import { useCallback, useEffect, useState } from "react";

import { type PageStatus, usePageStatus } from "./page-status";

export interface CardList<T> extends PageStatus {
  /** null until it was read. */
  readonly list: readonly T[] | null;
  readonly show: () => Promise<unknown>;
  readonly isAdding: boolean;
  readonly setAdding: (isAdding: boolean) => void;
  /** Whether it worked; then the form is closed, and the list read again. */
  readonly add: (make: () => Promise<unknown>) => Promise<boolean>;
  readonly changed: (one: T) => void;
  readonly gone: (id: string) => void;
}

/** `read` has to be the same function each time. */
export function useCardList<T extends { readonly id: string }>(read: () => Promise<readonly T[]>): CardList<T> {
  const page = usePageStatus();
  const { attempt } = page;
  const [list, setList] = useState<readonly T[] | null>(null);
  const [isAdding, setAdding] = useState(false);
  const show = useCallback(() => attempt(async () => {
    setList(await read());
    return undefined;
  }), [attempt, read]);
  useEffect(() => void show(), [show]);
  const add = async (make: () => Promise<unknown>) => {
    const isDone = await attempt(async () => {
      await make();
      return undefined;
    });
    if (!isDone) return false;
    setAdding(false);
    await show();
    return true;
  };
  const changed = (one: T) => setList((known) => known?.map((each) => each.id === one.id ? one : each) ?? null);
  const gone = (id: string) => setList((known) => known?.filter((each) => each.id !== id) ?? null);
  return { ...page, list, show, isAdding, setAdding, add, changed, gone };
}
