import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { type Done, type Job, TextCache, PATIENCE_MS, serve, WorkerQueue } from "./worker-queue";

// A worker that does what the test tells it to.
class FakeWorker {
  readonly jobs: Job<string>[] = [];
  isGone = false;
  private readonly listeners: ((event: { data: unknown }) => void)[] = [];

  addEventListener(type: string, listener: (event: { data: unknown }) => void): void {
    if (type === "message") this.listeners.push(listener);
  }

  postMessage(jobs: Job<string>[]): void {
    this.jobs.push(...jobs);
  }

  terminate(): void {
    this.isGone = true;
  }

  say(data: Done<string>[] | "ready"): void {
    for (const listener of this.listeners) listener({ data });
  }

  answer(...asks: string[]): void {
    this.say(this.jobs.filter(({ ask }) => asks.includes(ask)).map(({ id, ask }) => ({ id, answer: ask.toUpperCase() })));
  }
}

const workers: FakeWorker[] = [];
const queue = () => new WorkerQueue<string, string>(() => {
  const worker = new FakeWorker();
  workers.push(worker);
  return worker as unknown as Worker;
}, () => Promise.resolve("alone"));

beforeEach(() => {
  workers.length = 0;
  vi.useFakeTimers();
  vi.stubGlobal("Worker", FakeWorker);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const begun = async (jobs: readonly string[]) => {
  const place = queue();
  const answers = jobs.map((job) => place.do(job));
  await vi.advanceTimersByTimeAsync(0);
  workers[0]?.say("ready");
  return { answers, worker: workers[0] ?? new FakeWorker() };
};

describe("a queue of jobs for a worker", () => {
  it("gives each answer as it comes", async () => {
    const { answers, worker } = await begun(["a", "b"]);
    worker.answer("a");
    expect(await answers[0]).toBe("A");
    worker.answer("b");
    expect(await answers[1]).toBe("B");
  });

  it("is as patient after each answer as at the beginning", async () => {
    const { answers, worker } = await begun(["a", "b", "c"]);
    await vi.advanceTimersByTimeAsync(PATIENCE_MS - 1);
    worker.answer("a");
    await vi.advanceTimersByTimeAsync(PATIENCE_MS - 1);
    worker.answer("b");
    await vi.advanceTimersByTimeAsync(PATIENCE_MS - 1);
    worker.answer("c");
    expect([await Promise.all(answers), workers.length]).toEqual([["A", "B", "C"], 1]);
  });

  it("does all but the one that takes too long, for which it waits twice", async () => {
    const { answers } = await begun(["a", "endless", "c"]);
    workers[0]?.answer("a");
    await vi.advanceTimersByTimeAsync(PATIENCE_MS);
    expect([workers[0]?.isGone, workers[1]?.jobs.map(({ ask }) => ask)]).toEqual([true, ["endless"]]);
    workers[1]?.say("ready");
    await vi.advanceTimersByTimeAsync(PATIENCE_MS);
    workers[2]?.say("ready");
    workers[2]?.answer("c");
    expect(await Promise.all(answers)).toEqual(["A", null, "C"]);
  });

  it("has worked for seconds before it gives up, however busy the machine is", () => {
    expect(PATIENCE_MS).toBeGreaterThanOrEqual(10_000);
  });
});

describe("a worker", () => {
  const told: Done<string>[][] = [];
  const asked = (milliseconds: readonly number[]) => {
    told.length = 0;
    let now = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    const scope = { onmessage: null as ((event: MessageEvent) => void) | null, postMessage: (said: unknown) => Array.isArray(said) && told.push(said as Done<string>[]) };
    serve(scope, (ask: number) => {
      now += ask;
      if (ask === 0) throw new Error("cannot");
      return `${ask} ms`;
    });
    scope.onmessage?.({ data: milliseconds.map((ask, id) => ({ id, ask })) } as MessageEvent);
    return told.map((said) => said.map(({ id }) => id));
  };

  it("answers together what it did within a moment", () => {
    expect(asked([1, 1, 1])).toEqual([[0, 1, 2]]);
  });

  it("answers in pieces what took longer", () => {
    expect(asked([1, 20, 1, 1, 300, 1])).toEqual([[0, 1], [2, 3, 4], [5]]);
  });

  it("answers null where it failed", () => {
    asked([0, 1]);
    expect(told).toEqual([[{ id: 0, answer: null }, { id: 1, answer: "1 ms" }]]);
  });
});

describe("what is kept", () => {
  it("are the newest answers, as long as their keys are not too long together", () => {
    const kept = new TextCache<number>(10);
    kept.set("aaaa", 1);
    kept.set("bbbb", 2);
    kept.get("aaaa");
    kept.set("cccc", 3);
    expect(["aaaa", "bbbb", "cccc"].map((key) => kept.get(key))).toEqual([1, undefined, 3]);
    kept.delete("cccc");
    kept.set("dddddd", 4);
    expect(["aaaa", "cccc", "dddddd"].map((key) => kept.get(key))).toEqual([1, undefined, 4]);
  });
});
