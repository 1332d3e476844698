/**
 * Work that may take long, done beside the page in a worker: one job at a time, each with an end. A job that takes
 * longer is given up with its worker, and the next one gets a new worker.
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

const PATIENCE_MS = 1_500; // of a job, its worker's start aside

export class Workshop<Ask, Answer> {
  private worker: Worker | null = null;
  private isReady = false;
  private running: Waiting<Ask, Answer> | null = null;
  private readonly waiting: Waiting<Ask, Answer>[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private count = 0;

  /** `hire` makes a worker that answers each job; `alone` does one where there are no workers. */
  constructor(private readonly hire: () => Worker, private readonly alone: (ask: Ask) => Promise<Answer | null>) {}

  /** What came of `ask`; null where it cannot be done, or not in time. */
  do(ask: Ask): Promise<Answer | null> {
    if (typeof Worker === "undefined") return this.alone(ask).catch(() => null);
    return new Promise((resolve) => {
      this.waiting.push({ id: (this.count += 1), ask, resolve });
      this.next();
    });
  }

  private next(): void {
    if (this.running !== null) return;
    const job = this.waiting.shift();
    if (job === undefined) return;
    this.running = job;
    this.worker ??= this.start();
    this.worker.postMessage({ id: job.id, ask: job.ask } satisfies Job<Ask>);
    if (this.isReady) this.limit();
  }

  private start(): Worker {
    const worker = this.hire();
    this.isReady = false;
    worker.addEventListener("message", ({ data }: MessageEvent<Done<Answer> | "ready">) => {
      if (worker !== this.worker) return;
      if (data === "ready") {
        this.isReady = true;
        if (this.running !== null) this.limit();
      } else if (data.id === this.running?.id) this.finish(data.answer);
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
    this.finish(null);
  }

  private finish(answer: Answer | null): void {
    clearTimeout(this.timer);
    const done = this.running;
    this.running = null;
    done?.resolve(answer);
    this.next();
  }
}

interface Scope {
  onmessage: ((event: MessageEvent) => void) | null;
  postMessage: (message: unknown) => void;
}

/** The worker's side: answers each job with what `work` makes of it, or null where that fails. */
export function serve(scope: Scope, work: (ask: never) => unknown): void {
  scope.onmessage = ({ data }: MessageEvent<Job<never>>) => {
    let answer: unknown = null;
    try {
      answer = work(data.ask);
    } catch {
      // What cannot be read is shown as it was written.
    }
    scope.postMessage({ id: data.id, answer } satisfies Done<unknown>);
  };
  scope.postMessage("ready");
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
