// Headers as people write them: one a line, Name: value.

/** null: a line is none. Nothing written is nothing meant, so that what is kept stays. */
export function headersOf(text: string): Readonly<Record<string, string>> | undefined | null {
  const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  if (lines.length === 0) return undefined;
  const found: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = /^([^\s:]+)\s*:\s*(\S.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return null;
    found[name] = value;
  }
  return found;
}
