import type { Event } from "@chat-gateway/client";
import { reduceAll } from "@chat-gateway/client";
import { beforeEach, expect, test, vi } from "vitest";

import { app, client, live, NOTHING, setLive } from "../state";
import { wholeTurn } from "./recorded";
import { control, endReplay, playSession, replay } from "./replay";

const first = wholeTurn("t_1");
const second = wholeTurn("t_2", first.length + 1);
const all = [...first, ...second];

/** A session of two turns, in a log of two pages. */
function pages(): void {
  vi.spyOn(client, "events").mockImplementation((_, { after = 0 } = {}) =>
    Promise.resolve(after === 0 ? { events: first, head: all.length, next: first.length } : { events: second, head: all.length }));
}

const shown = (events: readonly Event[]) => ({ conversation: reduceAll(NOTHING.conversation, events), events, state: "ready" as const });
const position = () => replay.get().playing?.position;

beforeEach(() => {
  endReplay();
  app.set({ ...NOTHING, replay: null });
});

test("the whole session is played from its first event, whatever was on the screen", async () => {
  pages();
  app.set(shown(second));
  await playSession("s_1");
  expect(replay.get()).toMatchObject({ expected: all.length, loading: false });
  control((player) => {
    player.pause();
    player.seek(player.get().length);
  });
  expect(position()).toBe(all.length);
  expect(app.get().conversation.path).toEqual(["t_1", "t_2"]);
});

test("it stays on the screen while the session itself is still loaded, and what happens there comes afterwards", async () => {
  pages();
  app.set({ state: "loading" });
  await playSession("s_1");
  control((player) => player.pause());
  setLive(shown(all));
  expect(app.get().conversation.path).not.toEqual(["t_1", "t_2"]);
  expect(live().conversation.path).toEqual(["t_1", "t_2"]);
  endReplay();
  expect(app.get()).toMatchObject({ state: "ready", events: all, replay: null });
});

test("it tells why there is none", async () => {
  vi.spyOn(client, "events").mockRejectedValue(new Error("no"));
  app.set(shown(all));
  await playSession("s_1");
  expect(replay.get().problem?.message).toBe("no");
  expect(app.get()).toMatchObject({ events: all, replay: null });
});
