import { describe, expect, it } from "vitest";

import { LONGEST_PAUSE, Player } from "./player";
import { recorder, wholeTurn } from "./recorded";

const types = (player: Player) => [...player.known()].map(({ type }) => type);

describe("a replay", () => {
  it("lets events happen at their own pace", () => {
    const player = new Player(wholeTurn());
    player.play();
    player.tick(0);
    expect(types(player)).toEqual(["turn_start"]);
    player.tick(130);
    expect(types(player).at(-1)).toBe("iteration_superseded");
    player.tick(199);
    expect(types(player).at(-1)).toBe("iteration_superseded");
    player.tick(1);
    expect(types(player).at(-1)).toBe("iteration_start");
  });

  it("goes faster, and stops at its end", () => {
    const player = new Player(wholeTurn());
    player.setSpeed(10);
    player.play();
    player.tick(275);
    expect(player.get()).toMatchObject({ position: 18, isPlaying: false });
    player.play();
    expect(player.get()).toMatchObject({ position: 0, isPlaying: true });
  });

  it("shortens long waits", () => {
    const make = recorder();
    const player = new Player([make("turn_start", 0), make("done", 86_400_000)]);
    expect(player.get().length).toBe(LONGEST_PAUSE);
  });

  it("does nothing while it is paused", () => {
    const player = new Player(wholeTurn());
    player.play();
    player.tick(10);
    player.pause();
    const before = player.get();
    player.tick(10_000);
    expect(player.get()).toBe(before);
  });

  it("steps over the pieces of one text, forwards and back", () => {
    const player = new Player(wholeTurn());
    const places: (string | undefined)[] = [];
    for (let count = 0; count < 18; count += 1) {
      player.step(1);
      places.push(player.current()?.type);
    }
    expect(places.filter((type) => type === "thinking")).toHaveLength(1);
    expect(places.at(-1)).toBe("done");
    player.seekTo(7);
    player.step(-1);
    expect(player.current()?.type).toBe("iteration_start");
  });

  it("steps by turns", () => {
    const player = new Player([...wholeTurn(), ...wholeTurn("t_2", 19)]);
    player.stepTurn(1);
    player.stepTurn(1);
    expect(player.current()).toMatchObject({ type: "turn_start", turn_id: "t_2" });
    player.stepTurn(1);
    expect(player.get().position).toBe(36);
    player.stepTurn(-1);
    player.stepTurn(-1);
    expect(player.current()).toMatchObject({ type: "turn_start", turn_id: "t_1" });
  });

  it("shows the same conversation at a place by whichever way it came there", () => {
    const make = recorder();
    const events = Array.from({ length: 1200 }, (_, place) =>
      place % 40 === 0 ? make("turn_start", place, { input: String(place), model: "m", trace_id: "0".repeat(32) }, { turn_id: `t_${place}` })
        : make("text", place, { text: `${place} ` }, { turn_id: `t_${place - place % 40}`, iteration: 1 }));
    const there = new Player(events), back = new Player(events);
    back.seekTo(1200);
    for (const place of [1, 249, 250, 251, 777, 500]) {
      there.seekTo(place);
      back.seekTo(1200);
      back.seekTo(place);
      expect(back.get().conversation).toEqual(there.get().conversation);
      expect(back.get().conversation.last).toBe(place);
    }
  });

  it("goes on with events that come while it plays", () => {
    const events = wholeTurn(), player = new Player(events.slice(0, 3));
    player.extend(events.slice(3));
    expect(player.get()).toMatchObject({ total: 18, length: new Player(events).get().length });
  });
});
