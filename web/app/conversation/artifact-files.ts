// Files that are kept aside, as this page knows of them.

import { saveFile } from "../downloads";
import { client } from "../state";
import { createStore, useStore } from "../store";

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
export const LARGEST_PICTURE = 20_000_000; // bytes of one that is shown when it is asked for
export const LARGEST_PREVIEW = 5_242_880; // of one that is fetched unasked: what a model can be shown, too

export interface FileInfo {
  readonly ref: string;
  readonly name?: string | undefined;
  readonly mime?: string | undefined;
  readonly size?: number | undefined;
}

export function isPicture({ mime, size }: FileInfo, largest: number): boolean {
  return mime !== undefined && PICTURES.has(mime) && size !== undefined && size <= largest;
}

// An image of a type that runs nothing, as an address of this page; `URL.revokeObjectURL` ends it.
export async function pictureOf({ ref, mime = "" }: FileInfo, signal?: AbortSignal): Promise<string> {
  const file = await client.artifact(ref, signal ? { signal } : {});
  return URL.createObjectURL(new Blob([file], { type: mime }));
}

export async function saveArtifact({ ref, name }: FileInfo): Promise<void> {
  const file = await client.artifact(ref);
  saveFile(file, name ?? file.name);
}

const gone = createStore<Readonly<Record<string, true>>>({});

// A file was deleted: what stands for it says so, and every part of the page that hears of it.
export const markGone = (ref: string): void => gone.set({ [ref]: true });

export const useGone = (ref: string): boolean => useStore(gone, isIn(ref));

export const isGone = (ref: string): boolean => isIn(ref)(gone.get());

export const onGone = gone.subscribe;

const isIn = (ref: string) => (refs: Readonly<Record<string, true>>): boolean => refs[ref] ?? false;
