// What the reader has chosen for this browser.

import { LANGUAGES, languageOf, type Language } from "./language";
import { writeStored, readStoredJson } from "./browser-storage";
import { pageSettings } from "./page-settings";
import { createStore, useStore } from "./store";
import { isTraceAddress } from "./trace-address";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

/** How much of an answer's steps is shown: what was said alone, each step folded, or all of it unfolded. */
export const DETAILS = ["quiet", "normal", "all"] as const;
export type Detail = (typeof DETAILS)[number];

export interface Settings {
  readonly theme: Theme;
  /** null: as the browser. */
  readonly language: Language | null;
  readonly sidebar: boolean;
  /** null: as the screen has room. */
  readonly inspector: boolean | null;
  readonly detail: Detail;
  /** What developers need is shown: the inspector, webhooks, cron expressions. null: as the server has it. */
  readonly developer: boolean | null;
  /** Enter sends a message; else Ctrl+Enter does, and Enter starts a new line. */
  readonly enterSends: boolean;
  /** What is done while the reader is elsewhere is told by the browser. */
  readonly notify: boolean;
  /** Of new chats; null: the server's. */
  readonly model: string | null;
  /** Of a trace in the reader's own dashboard, with `{trace_id}` in it; empty: none. */
  readonly traceAddress: string;
}

const STORED_AS = "gateway.settings";
const DEFAULTS: Settings = { theme: "system", language: null, sidebar: true, inspector: null, detail: "normal", developer: null, enterSends: true, notify: false, model: null, traceAddress: "" };

export const settings = createStore<Settings>(read());

export function useSettings<S>(select: (value: Settings) => S): S {
  return useStore(settings, select);
}

export const isDeveloperNow = ({ developer }: Settings = settings.get()): boolean => developer ?? pageSettings.developer;

export const useIsDeveloper = (): boolean => useSettings(isDeveloperNow);

export function useLanguage(): Language {
  return useSettings(languageNow);
}

export function languageNow({ language }: Settings = settings.get()): Language {
  return language ?? languageOf(navigator.languages);
}

// Keeps the settings, and shows them on the page's root: `lang`, and `data-theme` where it is not the system's.
export function keepSettings(): void {
  const show = () => {
    const { theme } = settings.get();
    const root = document.documentElement;
    root.lang = languageNow();
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
  };
  show();
  settings.subscribe(() => {
    show();
    writeStored(STORED_AS, JSON.stringify(settings.get()));
  });
  addEventListener("languagechange", show);
}

function read(): Settings {
  const stored = (readStoredJson(STORED_AS) ?? {}) as Partial<Record<keyof Settings, unknown>>;
  return {
    theme: THEMES.find((each) => each === stored.theme) ?? DEFAULTS.theme,
    language: LANGUAGES.find((each) => each === stored.language) ?? DEFAULTS.language,
    sidebar: typeof stored.sidebar === "boolean" ? stored.sidebar : DEFAULTS.sidebar,
    inspector: typeof stored.inspector === "boolean" ? stored.inspector : DEFAULTS.inspector,
    detail: DETAILS.find((each) => each === stored.detail) ?? DEFAULTS.detail,
    developer: typeof stored.developer === "boolean" ? stored.developer : DEFAULTS.developer,
    enterSends: stored.enterSends !== false,
    notify: stored.notify === true,
    model: typeof stored.model === "string" ? stored.model : DEFAULTS.model,
    traceAddress: typeof stored.traceAddress === "string" && isTraceAddress(stored.traceAddress) ? stored.traceAddress : DEFAULTS.traceAddress,
  };
}
