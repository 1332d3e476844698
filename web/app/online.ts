// Whether the browser has a network at all: it knows that sooner than a stream falls silent.

import { useSyncExternalStore } from "react";

function subscribe(listener: () => void): () => void {
  for (const event of ["online", "offline"]) addEventListener(event, listener);
  return () => {
    for (const event of ["online", "offline"]) removeEventListener(event, listener);
  };
}

export const useOnline = (): boolean => useSyncExternalStore(subscribe, () => navigator.onLine);
