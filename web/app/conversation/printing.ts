// Whether the page is being printed: then all of it is drawn, and nothing that waits to be asked for.

import { flushSync } from "react-dom";

import { createStore, useStore } from "../store";

const printing = createStore({ isOn: false });

export const usePrinting = (): boolean => useStore(printing, ({ isOn }) => isOn);

/** Draws all of it now, or again as much as a reader looks at. */
export const setPrinting = (isOn: boolean): void => flushSync(() => printing.set({ isOn }));

addEventListener("beforeprint", () => setPrinting(true));
addEventListener("afterprint", () => setPrinting(false));
