// JSON for the eye of a person who decides: invisible letters, and those that turn the direction of reading, are
// escaped, so that what is approved is what is seen.

const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Zl}\p{Zp}\u007f-\u009f]/gu;

export function plain(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(UNSEEN, (letter) =>
    Array.from({ length: letter.length }, (_, at) => `\\u${letter.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""));
}
