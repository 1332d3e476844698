/**
 * Work that may take long, done beside the page in a worker: some jobs at a time, with an end. When they take longer
 * their worker is given up, and each is tried alone in a new one; the one that takes too long then is not done.
 */

export interface Job<Ask> {
  id: number;
  ask: Ask;
}

export interface Done<Answer> {
  id: number;
  answer: Answer | null;
}

interface Waiting<Ask, Answer> extends Job<Ask> {
  resolve: (answer: Answer | null) => void;
}

const PATIENCE_MS = 1_500; // of some jobs, their worker's start aside
const TOGETHER = 40; // jobs that are done at once, so that the page is drawn once for all of them

export class Workshop<Ask, Answer> {
  private worker: Worker | null = null;
  private isReady = false;
  private running: Waiting<Ask, Answer>[] = [];
  private waiting: Waiting<Ask, Answer>[] = [];
  private suspects = 0; // jobs that come first and alone: one of them took too long
  private timer: ReturnType<typeof setTimeout> | undefined;
  private count = 0;

  /** `hire` makes a worker that answers each job; `alone` does one where there are no workers. */
  constructor(private readonly hire: () => Worker, private readonly alone: (ask: Ask) => Promise<Answer | null>) {}

  /** What came of `ask`; null where it cannot be done, or not in time. */
  do(ask: Ask): Promise<Answer | null> {
    if (typeof Worker === "undefined") return this.alone(ask).catch(() => null);
    return new Promise((resolve) => {
      this.waiting.push({ id: (this.count += 1), ask, resolve });
      queueMicrotask(() => this.next());
    });
  }

  private next(): void {
    if (this.running.length > 0 || this.waiting.length === 0) return;
    this.running = this.waiting.splice(0, this.suspects > 0 ? 1 : TOGETHER);
    this.suspects = Math.max(0, this.suspects - 1);
    this.worker ??= this.start();
    this.worker.postMessage(this.running.map(({ id, ask }): Job<Ask> => ({ id, ask })));
    if (this.isReady) this.limit();
  }

  private start(): Worker {
    const worker = this.hire();
    this.isReady = false;
    worker.addEventListener("message", ({ data }: MessageEvent<Done<Answer>[] | "ready">) => {
      if (worker !== this.worker) return;
      if (data === "ready") {
        this.isReady = true;
        if (this.running.length > 0) this.limit();
      } else this.finish(data);
    });
    worker.addEventListener("error", () => worker === this.worker && this.giveUp());
    return worker;
  }

  private limit(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.giveUp(), PATIENCE_MS);
  }

  private giveUp(): void {
    this.worker?.terminate();
    this.worker = null;
    if (this.running.length === 1) {
      this.finish([]);
      return;
    }
    this.waiting = [...this.running, ...this.waiting];
    this.suspects = this.running.length;
    this.finish([], []);
  }

  private finish(answers: readonly Done<Answer>[], jobs: readonly Waiting<Ask, Answer>[] = this.running): void {
    clearTimeout(this.timer);
    const given = new Map(answers.map(({ id, answer }) => [id, answer]));
    for (const { id, resolve } of jobs) resolve(given.get(id) ?? null);
    this.running = [];
    this.next();
  }
}

interface Scope {
  onmessage: ((event: MessageEvent) => void) | null;
  postMessage: (message: unknown) => void;
}

/** The worker's side: answers each job with what `work` makes of it, or null where that fails. */
export function serve(scope: Scope, work: (ask: never) => unknown): void {
  scope.onmessage = ({ data }: MessageEvent<Job<never>[]>) => {
    scope.postMessage(data.map(({ id, ask }): Done<unknown> => ({ id, answer: tried(work, ask) })));
  };
  scope.postMessage("ready");
}

function tried(work: (ask: never) => unknown, ask: never): unknown {
  try {
    return work(ask);
  } catch {
    return null; // what cannot be read is shown as it was written
  }
}

/** The newest `size` answers by their keys. */
export class Kept<Answer> {
  private readonly known = new Map<string, Answer>();

  constructor(private readonly size: number) {}

  get(key: string): Answer | undefined {
    const answer = this.known.get(key);
    if (answer !== undefined) this.set(key, answer); // it is the newest now
    return answer;
  }

  set(key: string, answer: Answer): void {
    this.known.delete(key);
    this.known.set(key, answer);
    if (this.known.size > this.size) this.known.delete(this.known.keys().next().value ?? "");
  }
}
