// Times, numbers and sizes as the reader writes them.

import { useMemo } from "react";

import type { Language } from "../language";
import { useLanguage } from "../settings";

const UNITS = [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"]] as const;

// The locale of numbers and dates: the browser's own where it is one of the page's language.
export function localeOf(language: Language): string {
  const same = navigator.languages.find((each) => each.split("-")[0] === language.split("-")[0]);
  if (language === "en") return same ?? "en";
  return language === "zh-Hant" ? "zh-Hant-TW" : "zh-Hans-CN";
}

// A function from Unix milliseconds to a short date and time.
export function useTime(): (at: number) => string {
  const language = useLanguage();
  return useMemo(() => {
    const format = new Intl.DateTimeFormat(localeOf(language), { dateStyle: "short", timeStyle: "short" });
    return (at) => format.format(at);
  }, [language]);
}

// "2.0 MB", "812 B".
export function sizeText(bytes: number, language: Language): string {
  const [unit, name] = UNITS.find(([least]) => bytes >= least) ?? [1, "B"];
  const digits = unit === 1 ? 0 : 1;
  return `${(bytes / unit).toLocaleString(localeOf(language), { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${name}`;
}
