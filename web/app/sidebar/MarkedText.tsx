import type { MarkedSpan } from "./highlight";

export function MarkedText({ spans }: { readonly spans: readonly MarkedSpan[] }) {
  return spans.map(({ text, hit }, at) => hit ? <mark key={at}>{text}</mark> : text);
}
