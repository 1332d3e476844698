import { type Event, emptyConversation, reduceAll, show } from "@chat-gateway/client";
import { beforeEach, expect, test, vi } from "vitest";

import { app, client, NOTHING } from "../state";
import { showActiveBranch } from "./branch";

const turn = (seq: number, id: string, parent: string): Event =>
  ({ v: 1, seq, type: "turn_start", ts: seq, session_id: "s", turn_id: id, data: { input: id, model: "m", parent_turn_id: parent } });

type Branches = Awaited<ReturnType<typeof client.branches>>;
const branches = (active: number): Branches => ({
  active, branches: [{ branch: 0, last_turn_id: "b" }, { branch: 1, parent: 0, fork_turn_id: "a", last_turn_id: "c" }].map((each) => ({ turns: 2, created_at: 1, ...each })),
});

/** A session with two answers to the question after `a`; what the server says of its branches comes when it is told. */
function opened() {
  const conversation = reduceAll(emptyConversation(), [turn(1, "a", "root"), turn(2, "b", "a"), turn(3, "c", "a")]);
  app.set({ ...NOTHING, state: "ready", conversation, place: { session: "s", turn: null, page: null } });
  let tell: (known: Branches) => void = () => undefined;
  vi.spyOn(client, "branches").mockReturnValue(new Promise((resolve) => { tell = resolve; }));
  const asking = showActiveBranch("s");
  return (active: number) => {
    tell(branches(active));
    return asking;
  };
}

const path = () => app.get().conversation.path;

beforeEach(() => app.set({ ...NOTHING }));

test("the branch in which turns go on is shown, though another one is newer", async () => {
  const answer = opened();
  expect(path()).toEqual(["a", "c"]);
  await answer(0);
  expect(path()).toEqual(["a", "b"]);
});

test("a turn that began meanwhile stays on the screen, whatever was true before it", async () => {
  const answer = opened();
  app.set({ conversation: reduceAll(app.get().conversation, [turn(4, "d", "a")]) });
  await answer(0);
  expect(path()).toEqual(["a", "d"]);
});

test("so does the branch that the reader chose meanwhile", async () => {
  const answer = opened();
  app.set({ conversation: show(app.get().conversation, "b") });
  await answer(1);
  expect(path()).toEqual(["a", "b"]);
});
