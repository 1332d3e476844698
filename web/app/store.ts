// A value that components read and that changes as a whole.

import { useSyncExternalStore } from "react";

export interface Store<T> {
  readonly get: () => T;
  /** Replaces the given fields. Readers hear of it when one of them is another value now. */
  readonly set: (change: Partial<T>) => void;
  readonly subscribe: (listener: () => void) => () => void;
}

export function createStore<T extends object>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(change) {
      const next = { ...value, ...change };
      if ((Object.keys(change) as (keyof T)[]).every((name) => Object.is(next[name], value[name]))) return;
      value = next;
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

// What `select` takes of the store; the component is drawn again when that is another value. `select` must return
// the same object while nothing changed.
export function useStore<T, S>(store: Store<T>, select: (value: T) => S): S {
  return useSyncExternalStore(store.subscribe, () => select(store.get()));
}
