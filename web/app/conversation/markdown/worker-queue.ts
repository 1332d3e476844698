/**
 * Work that may take long, done beside the page in a worker: some jobs at a time, whose answers come as they are ready.
 * When none comes for long their worker is given up, and each job is tried alone in a new one; the one that takes too
 * long then is not done.
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

/** Without an answer, the worker's start aside: on a busy machine even a small job may wait for seconds. */
export const PATIENCE_MS = 15_000;
const TOGETHER = 40; // jobs that the worker has at a time
const SLICE_MS = 8; // of work, whose answers come together, so that the page is drawn once for them and yet not for long

export class WorkerQueue<Ask, Answer> {
  private worker: Worker | null = null;
  private isReady = false;
  private running: Waiting<Ask, Answer>[] = [];
  private waiting: Waiting<Ask, Answer>[] = [];
  private suspects = 0; // jobs that come first and alone: one of them took too long
  private timer: ReturnType<typeof setTimeout> | undefined;
  private count = 0;

  /** `createWorker` makes one that answers each job; `doHere` does one where there are no workers. */
  constructor(private readonly createWorker: () => Worker, private readonly doHere: (ask: Ask) => Promise<Answer | null>) {}

  /** What came of `ask`; null where it cannot be done, or not in time. */
  do(ask: Ask): Promise<Answer | null> {
    if (typeof Worker === "undefined") return this.doHere(ask).catch(() => null);
    return new Promise((resolve) => {
      this.waiting.push({ id: (this.count += 1), ask, resolve });
      queueMicrotask(() => this.next());
    });
  }

  /** Whether an answer is still to come. */
  get isBusy(): boolean {
    return this.running.length + this.waiting.length > 0;
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
    const worker = this.createWorker();
    this.isReady = false;
    worker.addEventListener("message", ({ data }: MessageEvent<Done<Answer>[] | "ready">) => {
      if (worker !== this.worker) return;
      if (data === "ready") {
        this.isReady = true;
        if (this.running.length > 0) this.limit();
      } else this.take(data);
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
    clearTimeout(this.timer);
    const left = this.running;
    this.running = [];
    if (left.length === 1) left[0]?.resolve(null);
    else {
      this.waiting = [...left, ...this.waiting];
      this.suspects = left.length;
    }
    this.next();
  }

  private take(answers: readonly Done<Answer>[]): void {
    const given = new Map(answers.map(({ id, answer }) => [id, answer]));
    for (const { id, resolve } of this.running) if (given.has(id)) resolve(given.get(id) ?? null);
    this.running = this.running.filter(({ id }) => !given.has(id));
    clearTimeout(this.timer);
    if (this.running.length > 0) this.limit();
    else this.next();
  }
}

interface Scope {
  onmessage: ((event: MessageEvent) => void) | null;
  postMessage: (message: unknown) => void;
}

/** The worker's side: answers each job with what `work` makes of it, or null where that fails. */
export function serve(scope: Scope, work: (ask: never) => unknown): void {
  scope.onmessage = ({ data }: MessageEvent<Job<never>[]>) => {
    let done: Done<unknown>[] = [];
    let began = performance.now();
    data.forEach(({ id, ask }, place) => {
      done.push({ id, answer: tried(work, ask) });
      if (place < data.length - 1 && performance.now() - began < SLICE_MS) return;
      scope.postMessage(done);
      done = [];
      began = performance.now();
    });
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

/** The newest answers by their keys, which have so many characters together. */
export class TextCache<Answer> {
  private readonly known = new Map<string, { readonly own: string; readonly answer: Answer }>();
  private characters = 0;

  constructor(private readonly most: number) {}

  get(key: string): Answer | undefined {
    const found = this.known.get(key);
    if (found === undefined) return undefined;
    this.known.delete(key);
    this.known.set(found.own, found); // it is the newest now
    return found.answer;
  }

  /** The answer for `key`, which `make` gives where none is kept and there is one to ask. */
  getOrMake(key: string, make: (() => Answer) | undefined): Answer | undefined {
    const known = this.get(key);
    if (known !== undefined || make === undefined) return known;
    const made = make();
    this.set(key, made);
    return made;
  }

  set(key: string, answer: Answer): void {
    this.delete(key);
    const own = copied(key);
    this.known.set(own, { own, answer });
    this.characters += own.length;
    for (const oldest of this.known.keys()) {
      if (this.characters <= this.most || this.known.size === 1) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    if (this.known.delete(key)) this.characters -= key.length;
  }
}

/** The same text: a part of a longer one keeps all of that in memory. */
function copied(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}
