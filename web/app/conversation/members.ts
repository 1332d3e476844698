// Members of the project that a chat is shared in, or was before it moved: events name them by a handle, which the project
// gives a name to.

import { useEffect } from "react";

import { client } from "../state";
import { createStore, useStore } from "../store";

const HANDLE = /^m_[0-9a-f]{32}$/;
const names = createStore<Record<string, string>>({});
const named = new Set<string>(); // projects whose members are known
const asked = new Set<string>();

/** Who `by` is, where it is a handle and its project still knows it; else `by` as it is, or undefined for a handle. */
export function useMember(session: string, by: string | undefined): string | undefined {
  const isHandle = by !== undefined && HANDLE.test(by);
  const name = useStore(names, (all) => by === undefined ? undefined : all[by]);
  useEffect(() => {
    if (isHandle && !asked.has(by)) void readMembers(session, by);
  }, [session, by, isHandle]);
  return isHandle ? name : by;
}

async function readMembers(session: string, handle: string): Promise<void> {
  asked.add(handle);
  try {
    const { project_id: now } = await client.session(session);
    if (now !== undefined) await nameMembers(now);
    if (Object.hasOwn(names.get(), handle)) return;
    const { projects } = await client.projects();
    for (const { id } of projects) {
      if (Object.hasOwn(names.get(), handle)) return;
      if (!named.has(id)) await nameMembers(id);
    }
  } catch {
    // A recording, or a project that is gone: they are a member without a name.
  }
}

async function nameMembers(project: string): Promise<void> {
  const { members } = await client.project(project);
  named.add(project);
  names.set(Object.fromEntries(members.map((each) => [each.handle, each.user])));
}
