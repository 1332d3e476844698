/** A session in React: `import { useSession } from "@chat-gateway/client/react"`. */

import { useCallback, useMemo, useSyncExternalStore } from "react";

import type * as api from "./api.js";
import type { GatewayClient } from "./client.js";
import type { Call } from "./conversation.js";
import { LiveSession, type LiveView } from "./live.js";
import { emptyConversation, openTurn } from "./reduce.js";

/** The session, and what can be done in it. The functions stay the same while client and session do. */
export interface SessionOnScreen extends Omit<LiveView, "state"> {
  /** `none`: no session is given yet. */
  readonly state: LiveView["state"] | "none";
  /** A turn runs or waits for a person. */
  readonly busy: boolean;
  /** Sends a message. Rejects with `Refused` or `Unreachable`, as the other two. */
  readonly send: (message: string | api.TurnOptions) => Promise<api.AcceptedTurn>;
  /** Stops the turn that runs or waits; does nothing where there is none. */
  readonly stop: () => Promise<void>;
  /** Answers a call that waits. */
  readonly decide: (turnId: string, call: Call, body: api.DecisionBody) => Promise<void>;
  readonly loadOlder: () => Promise<void>;
}

const NONE: LiveView = { conversation: emptyConversation(), details: null, state: "loading", link: null, error: null };

/** Follows `session` while a component is mounted that uses it; null: none. `client` must be the same object from one
 * drawing to the next. */
export function useSession(client: GatewayClient, session: string | null): SessionOnScreen {
  const source = useMemo(() => sessionSource(client, session), [client, session]);
  const view = useSyncExternalStore(source.subscribe, source.get, source.get);
  const send = useCallback((message: string | api.TurnOptions) => client.startTurn(given(session), message), [client, session]);
  const stop = useCallback(async () => {
    const turn = openTurn(source.get().conversation);
    if (turn) await client.cancel(given(session), turn.id);
  }, [client, session, source]);
  const decide = useCallback(async (turnId: string, call: Call, body: api.DecisionBody) => {
    await client.decide(given(session), turnId, call.id, body);
  }, [client, session]);
  const busy = openTurn(view.conversation) !== undefined;
  return { ...view, state: session === null ? "none" : view.state, busy, send, stop, decide, loadOlder: source.loadOlder };
}

interface SessionSource {
  readonly subscribe: (listener: () => void) => () => void;
  readonly get: () => LiveView;
  readonly loadOlder: () => Promise<void>;
}

/** Follows the session from its first subscriber until its last one leaves. */
function sessionSource(client: GatewayClient, session: string | null): SessionSource {
  const listeners = new Set<() => void>();
  let view = NONE;
  let live: LiveSession | null = null;
  const show = (next: LiveView) => {
    view = next;
    for (const listener of listeners) listener();
  };
  return {
    get: () => view,
    loadOlder: () => live?.loadOlder() ?? Promise.resolve(),
    subscribe(listener) {
      listeners.add(listener);
      if (session !== null) live ??= new LiveSession(client, session, { onChange: show });
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        live?.close();
        live = null;
      };
    },
  };
}

function given(session: string | null): string {
  if (session === null) throw new Error("There is no session yet: make one with client.createSession().");
  return session;
}
