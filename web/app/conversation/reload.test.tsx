import { type Conversation, type Event, emptyConversation, prepend, reduceAll } from "@chat-gateway/client";
import { act, render, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { recorded, recordings } from "../../client/tests/plain";
import { fakeServer } from "../fake-server";
import { settings } from "../settings";
import { app, NOTHING, useApp } from "../state";
import { TurnView } from "./TurnView";

const LAST_PAGE = 5; // events of the newest page after a reload; those before it are put in front

beforeEach(() => {
  settings.set({ language: "en" });
  fakeServer({}); // which compression is in force is told by nobody here
});
afterEach(() => app.set({ ...NOTHING, replay: null }));

function Turns() {
  const path = useApp(({ conversation }) => conversation.path);
  return path.map((id, place) => <TurnView key={id} session="s" id={id} position={place + 1} count={path.length} />);
}

// What a container shows when all its Markdown is parsed and its formulas are set, but for the ids that React gives and the colours of code, which come later.
async function drawn(container: HTMLElement): Promise<string> {
  await waitFor(() => expect(container.querySelector(".plain, code[aria-busy], pre[aria-busy]")).toBeNull());
  const copy = container.cloneNode(true) as HTMLElement;
  for (const code of copy.querySelectorAll("pre code")) code.replaceChildren(code.textContent);
  for (const element of copy.querySelectorAll("*")) { // in the order in which they were set
    const attributes = [...element.attributes].map(({ name, value }) => [name, value] as const).sort();
    for (const [name] of attributes) element.removeAttribute(name);
    for (const [name, value] of attributes) element.setAttribute(name, value);
  }
  return new XMLSerializer().serializeToString(copy).replaceAll(/«\w+»|_r_\w+_|:r\w+:/g, "id");
}

async function show(conversation: Conversation): Promise<void> {
  await act(() => {
    app.set({ conversation });
    return Promise.resolve();
  });
}

function reloaded(events: readonly Event[]): Conversation {
  const newest = reduceAll(emptyConversation(), events.slice(-LAST_PAGE));
  const older = events.slice(0, -LAST_PAGE);
  return older.length > 0 ? prepend(newest, older) : newest;
}

// Whether another piece of text follows the last one of these events.
const isWithinText = (events: readonly Event[], count: number): boolean => events[count - 1]?.type === "text" && events[count]?.type === "text";

describe("a reload at any event changes nothing on the screen", () => {
  test.each(recordings)("%s", async (name) => {
    const events = recorded(name);
    app.set({ ...NOTHING, replay: null, state: "ready" });
    const live = render(<Turns />);
    for (let count = 1; count <= events.length; count += 1) {
      const conversation = reduceAll(app.get().conversation, events.slice(count - 1, count));
      await show(conversation);
      if (isWithinText(events, count) && count % 10 > 0) continue;
      const before = await drawn(live.container);
      expect(before, `with ${count} events`).not.toBe("");

      await show(reloaded(events.slice(0, count)));
      const again = render(<Turns />);
      expect(await drawn(again.container), `with ${count} events`).toBe(before);
      again.unmount();
      await show(conversation);
    }
  });
});
