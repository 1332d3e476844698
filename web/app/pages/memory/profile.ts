// A profile as a text with a line for each fact.

export function textOf(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields).map(([name, value]) => `${name}: ${value.replace(/\s+/g, " ")}`).join("\n");
}

// `name: value` lines, with a colon of either width; null when one is none.
export function fieldsOf(text: string): Record<string, string> | null {
  const pairs = text.split("\n").filter((line) => line.trim() !== "").map((line) => /^([^:：]+)[:：](.+)$/.exec(line));
  if (!pairs.every((each) => each !== null)) return null;
  return Object.fromEntries(pairs.map(([, name = "", value = ""]) => [name.trim(), value.trim()]));
}
