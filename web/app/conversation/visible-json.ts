// A value as JSON, so that what is approved is what is seen: invisible letters, and those that turn the direction of
// reading, are escaped.

const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Zl}\p{Zp}\u007f-\u009f]/gu;

export function visibleJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(UNSEEN, (letter) =>
    Array.from({ length: letter.length }, (_, at) => `\\u${letter.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""));
}

// The values of arguments in one line.
export function gistOf(given: Readonly<Record<string, unknown>>): string {
  return Object.values(given).map((value) => typeof value === "string" ? value : JSON.stringify(value)).join(", ").slice(0, 300);
}

// Whether a number in it was rounded: engines of before 2025 cannot keep the digits of large ones.
export function isRounded(value: unknown): boolean {
  if ("rawJSON" in JSON) return false;
  if (value !== null && typeof value === "object") return Object.values(value).some(isRounded);
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}
