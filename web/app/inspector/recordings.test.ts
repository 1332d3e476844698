import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { emptyConversation, reduceAll } from "@chat-gateway/client";
import { expect, it } from "vitest";

import { readRecording } from "./export-file";
import { Player } from "./player";
import { timelineOf } from "./timeline";

const FOLDER = join(import.meta.dirname, "../../../tests/recorded");
const names = readdirSync(FOLDER).filter((name) => name.endsWith(".jsonl"));

it.each(names)("%s is read, replayed to the conversation that its events make, and laid out turn by turn", async (name) => {
  const { events } = await readRecording(new Blob([readFileSync(join(FOLDER, name), "utf8")]));
  const player = new Player(events);
  for (const place of [events.length, 1, Math.floor(events.length / 2), events.length]) {
    player.seekTo(place);
    expect(player.get().conversation).toEqual(reduceAll(emptyConversation(), events.slice(0, place)));
  }
  for (const id of new Set(events.map((event) => event.turn_id))) {
    const timeline = timelineOf(events.filter((event) => event.turn_id === id));
    for (const row of timeline.rows) {
      expect(row.to).toBeGreaterThanOrEqual(row.from);
      if (timeline.done) expect(row.kind === "model" && row.open).toBe(false);
      for (const { from, to } of row.segments) expect(to).toBeGreaterThanOrEqual(from);
    }
  }
});
