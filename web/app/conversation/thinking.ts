/** Models behind an endpoint that does not know better write their thoughts into the text, between `<think>` and `</think>`. */

export interface Passage {
  kind: "text" | "thinking";
  text: string;
  /** It has no end yet. */
  isOpen: boolean;
}

const ANY = /<\/?think(?:ing)?>/i;
const OPENING = /<think(?:ing)?>/gi;
const TOKEN = /^[ \t]*(`{3,}|~{3,})[^\n]*$|^[ \t]*<think(?:ing)?>|<\/think(?:ing)?>|`[^`\n]*`/gim;

/** What is said and what is thought, in its order. Where only the end is marked, all before it was thought. */
export function passages(text: string): Passage[] {
  if (!ANY.test(text)) return [{ kind: "text", text, isOpen: true }];
  const found: Passage[] = [];
  let from = 0;
  let isThought = false;
  let fence = "";
  let opening = -2; // where the first one from `from` on is, also within a line; -1: there is none, -2: it was not looked for
  const opensBefore = (end: number): boolean => {
    if (opening !== -1 && opening < from) {
      OPENING.lastIndex = from;
      opening = OPENING.exec(text)?.index ?? -1;
    }
    return opening !== -1 && opening < end;
  };
  const close = (to: number, kind: Passage["kind"]) => {
    const said = text.slice(from, to);
    if (said.trim() !== "") found.push({ kind, text: kind === "thinking" || found.length > 0 ? said.trim() : said, isOpen: false });
  };
  for (const { 0: token, 1: mark, index } of text.matchAll(TOKEN)) {
    const isEnd = token.startsWith("</");
    if (isThought) {
      if (!isEnd) continue;
      close(index, "thinking");
      isThought = false;
    } else if (mark !== undefined) {
      if (fence === "") fence = mark;
      else if (mark.startsWith(fence) && token.trim() === mark) fence = "";
      continue;
    } else if (fence !== "" || token.startsWith("`")) continue;
    else if (isEnd) {
      if (found.length > 0 || opensBefore(index)) continue; // it ends what began within a line: words
      close(index, "thinking");
    } else {
      close(index, "text");
      isThought = true;
    }
    from = index + token.length;
  }
  const rest = text.slice(from);
  if (rest.trim() !== "") found.push({ kind: isThought ? "thinking" : "text", text: rest.trimStart(), isOpen: true });
  return found;
}

/** What is said alone. */
export function withoutThinking(text: string): string {
  return ANY.test(text) ? passages(text).flatMap((each) => each.kind === "text" ? [each.text.trim()] : []).join("\n\n") : text;
}
