/** The last block of code in a text of Markdown, without its fences; null: there is none. */
export function lastCode(text: string): string | null {
  let found: string | null = null;
  let fence = "";
  let lines: string[] = [];
  for (const line of text.split("\n")) {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
    if (fence === "") {
      if (mark !== "") [fence, lines] = [mark, []];
    } else if (mark.startsWith(fence) && line.trim() === mark) [found, fence] = [lines.join("\n"), ""];
    else lines.push(line);
  }
  return found;
}
