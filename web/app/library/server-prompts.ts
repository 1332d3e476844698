// Prompts that MCP servers offer. They are asked for theirs once, and again with the dialog of all prompts.

import type { api } from "@chat-gateway/client";

import { client } from "../state";
import { createStore, useStore } from "../store";
import type { Asked } from "./FillDialog";

export interface ServerPrompt extends api.McpPromptItem {
  readonly server: string;
}

interface Offered {
  readonly servers: readonly api.McpServerPrompts[] | null;
  readonly all: readonly ServerPrompt[];
}

export const serverPrompts = createStore<Offered>({ servers: null, all: [] });

let asking: Promise<void> | null = null;

export function readServerPrompts(isAnew = false): Promise<void> {
  if (serverPrompts.get().servers !== null && !isAnew) return Promise.resolve();
  asking ??= client.mcpPrompts()
    .then(({ servers }) => serverPrompts.set({ servers, all: servers.flatMap(({ server, prompts }) => prompts.map((each) => ({ ...each, server }))) }), () => undefined) // the page is whole without
    .finally(() => { asking = null; });
  return asking;
}

export const useServerPrompts = (): Offered => useStore(serverPrompts, (state) => state);

// Its text is fetched when it is chosen. What may be left empty and is, is not sent.
export function askedOf({ server, name, title, description, arguments: fields }: ServerPrompt): Asked {
  return {
    name: title ?? name,
    ...(description === undefined ? {} : { about: description }),
    fields: fields.map((each) => ({ name: each.name, isRequired: each.required, ...(each.description === undefined ? {} : { about: each.description }) })),
    fill: async (values) => {
      const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim() !== ""));
      return (await client.fillMcpPrompt({ server, name, arguments: given })).text;
    },
  };
}
