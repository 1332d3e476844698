// The regions beside the conversation: on a wide screen they stand beside it, as the reader chose; on a narrower one
// they lie over it, one at a time, until they are closed.

import { useEffect } from "react";

import { pageSettings } from "./page-settings";
import { isDeveloperNow, type Settings, settings, useSettings } from "./settings";
import { app, useApp } from "./state";
import { createStore, useStore } from "./store";

export type RegionName = "sidebar" | "inspector";

// Where developers are at home an inspector that nobody chose is there if it leaves room for the conversation, once there
// is something to inspect.
const ROOMY = matchMedia("(min-width: 1280px)");
const BESIDE = { sidebar: matchMedia("(min-width: 861px)"), inspector: matchMedia("(min-width: 1181px)") };

const layout = createStore({
  /** The region that lies over the conversation. */
  over: null as RegionName | null,
  sidebar: BESIDE.sidebar.matches,
  inspector: BESIDE.inspector.matches,
  isRoomy: ROOMY.matches,
});

ROOMY.addEventListener("change", ({ matches }) => layout.set({ isRoomy: matches }));

for (const name of ["sidebar", "inspector"] as const) {
  BESIDE[name].addEventListener("change", ({ matches }) => layout.set({ [name]: matches, over: null }));
}

export interface Place {
  readonly isOpen: boolean;
  readonly isOver: boolean;
}

const hasSession = () => app.get().place.session !== null || app.get().replay !== null;
const isThere = (name: RegionName, chosen: Settings) => name === "sidebar" || isDeveloperNow(chosen);
const isChosenNow = (name: RegionName, chosen: Settings, isRoomy: boolean) =>
  isThere(name, chosen) && (chosen[name] ?? (pageSettings.developer && isRoomy && hasSession()));

export function useRegion(name: RegionName): Place {
  const isRoomy = useStore(layout, (value) => value.isRoomy);
  const chosen = useSettings((value) => value);
  const isChosen = useApp(() => isChosenNow(name, chosen, isRoomy));
  const isBeside = useStore(layout, (value) => value[name]);
  const isOver = useStore(layout, ({ over }) => over === name && isThere(name, chosen));
  return { isOpen: isBeside ? isChosen : isOver, isOver: !isBeside && isOver };
}

// Whether there is room for something at the right of the conversation.
export const useIsBeside = (): boolean => useStore(layout, ({ inspector }) => inspector);

// Shows a region, or takes it away.
export function toggle(name: RegionName): void {
  const { over, [name]: isBeside, isRoomy } = layout.get();
  if (!isThere(name, settings.get())) return;
  if (isBeside) settings.set({ [name]: !isChosenNow(name, settings.get(), isRoomy) });
  else layout.set({ over: over === name ? null : name });
}

export function show(name: RegionName): void {
  if (layout.get()[name]) settings.set({ [name]: true });
  else layout.set({ over: name });
}

// Takes away what lies over the conversation.
export function uncover(): void {
  layout.set({ over: null });
}

// Escape takes away what lies over the conversation; the focus goes into it, and back to where it was.
export function useCover(region: HTMLElement | null): void {
  useEffect(() => {
    if (!region) return;
    const before = document.activeElement;
    region.focus();
    const listen = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open]")) uncover();
    };
    addEventListener("keydown", listen);
    return () => {
      removeEventListener("keydown", listen);
      if (before instanceof HTMLElement && (document.activeElement === document.body || region.contains(document.activeElement))) before.focus();
    };
  }, [region]);
}
