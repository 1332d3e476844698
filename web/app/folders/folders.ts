// The reader's folders: projects of which they are a member, alone or with others. Their chats are in `chats.ts`.

import type { api } from "@chat-gateway/client";

import { readStoredJson, writeStored } from "../browser-storage";
import { client } from "../state";
import { createStore, useStore } from "../store";

export type Folder = api.ProjectReply;

const KEPT = "gateway.folders.open";

interface FoldersState {
  readonly folders: readonly Folder[];
  /** Ids of those whose chats are shown. */
  readonly open: readonly string[];
}

const kept = readStoredJson(KEPT);

export const folders = createStore<FoldersState>({ folders: [], open: Array.isArray(kept) ? kept.filter((each) => typeof each === "string") : [] });

export const useFolders = (): readonly Folder[] => useStore(folders, (state) => state.folders);

export const folderOf = (id: string | undefined): Folder | undefined => folders.get().folders.find((each) => each.id === id);

const show = ({ projects }: api.ProjectList) => folders.set({ folders: projects });

export async function readFolders(): Promise<void> {
  show(await client.projects());
}

export async function createFolder(name: string): Promise<Folder> {
  const made = await client.createProject({ name });
  folders.set({ folders: [...folders.get().folders, made] });
  return made;
}

export async function changeFolder(id: string, change: api.ProjectChanges): Promise<void> {
  const changed = await client.changeProject(id, change);
  folders.set({ folders: folders.get().folders.map((each) => each.id === id ? changed : each) });
}

export async function deleteFolder(id: string): Promise<void> {
  await client.deleteProject(id);
  folders.set({ folders: folders.get().folders.filter((each) => each.id !== id) });
}

// Moves a folder by so many places.
export async function moveFolder(id: string, by: number): Promise<void> {
  const ids = folders.get().folders.map((each) => each.id);
  const at = ids.indexOf(id);
  const to = Math.min(Math.max(at + by, 0), ids.length - 1);
  ids.splice(to, 0, ...ids.splice(at, 1));
  show(await client.arrangeProjects(ids));
}

export function openFolder(id: string, isOpen: boolean): void {
  const others = folders.get().open.filter((each) => each !== id);
  const open = isOpen ? [...others, id] : others;
  folders.set({ open });
  writeStored(KEPT, JSON.stringify(open));
}
