// What is shown in the panel beside the conversation: a document that a model or a tool made.

import { createStore, useStore } from "../store";

export const KINDS = ["html", "svg", "mermaid", "markdown"] as const;
export type PreviewKind = (typeof KINDS)[number];

export interface Previewed {
  readonly kind: PreviewKind;
  /** What the panel is called, and the file that it is saved as. */
  readonly name: string;
  /** The text, or where it comes from. */
  readonly text: string | (() => Promise<string>);
}

// `isAvailable`: this page stands before a gateway, which serves the frame; a page of a session that was saved does not.
export const previewing = createStore<{ readonly isAvailable: boolean; readonly shown: Previewed | null }>({ isAvailable: false, shown: null });

export const LARGEST = 2_000_000; // bytes of what is shown

const BY_LANGUAGE = new Map<string, PreviewKind>([
  ["html", "html"], ["htm", "html"], ["xhtml", "html"], ["svg", "svg"], ["mermaid", "mermaid"], ["mmd", "mermaid"], ["markdown", "markdown"], ["md", "markdown"],
]);
const BY_MIME = new Map<string, PreviewKind>([["text/html", "html"], ["image/svg+xml", "svg"], ["text/markdown", "markdown"], ["text/vnd.mermaid", "mermaid"]]);
const ENDINGS: Readonly<Record<PreviewKind, string>> = { html: "html", svg: "svg", mermaid: "mmd", markdown: "md" };

// Of a block of code in that language; undefined: it is nothing to look at.
export function kindOfCode(language: string, code: string): PreviewKind | undefined {
  const kind = BY_LANGUAGE.get(language.toLowerCase());
  if (kind !== undefined || language.toLowerCase() !== "xml") return kind;
  return /^\s*(<\?xml[^>]*>\s*)?<svg[\s>]/.test(code) ? "svg" : undefined;
}

// Of a file of text.
export function kindOfFile({ mime, name = "" }: { readonly mime?: string | undefined; readonly name?: string | undefined }): PreviewKind | undefined {
  return BY_MIME.get(mime?.split(";")[0]?.trim() ?? "") ?? BY_LANGUAGE.get(/\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? "");
}

export const fileNameOf = ({ name, kind }: Previewed): string => /\.\w{1,10}$/.test(name) ? name : `${name}.${ENDINGS[kind]}`;

export function preview(shown: Previewed | null): void {
  previewing.set({ shown });
}

export const usePreviewed = (): Previewed | null => useStore(previewing, ({ shown }) => shown);

export const useCanPreview = (): boolean => useStore(previewing, ({ isAvailable }) => isAvailable);
