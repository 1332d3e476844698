const MAX_WAIT_MS = 15_000;

/** Waits that double up to 15 s, each shorter or longer by up to a half, so that many clients do not come back at once. */
export class Backoff {
  private wait: number;

  constructor(private readonly firstMs: number) {
    this.wait = firstMs;
  }

  /** Milliseconds before the next try. */
  next(): number {
    const wait = this.wait * (0.5 + Math.random());
    this.wait = Math.min(this.wait * 2, MAX_WAIT_MS);
    return wait;
  }

  /** A try succeeded. */
  reset(): void {
    this.wait = this.firstMs;
  }
}

/** Waits, but not past the moment when `signal` aborts or a browser is online again. */
export function waitToRetry(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) { resolve(); return; }
    const target = "addEventListener" in globalThis ? globalThis as unknown as EventTarget : undefined;
    const timer = setTimeout(finish, ms);
    function finish(): void {
      clearTimeout(timer);
      target?.removeEventListener("online", finish);
      signal?.removeEventListener("abort", finish);
      resolve();
    }
    target?.addEventListener("online", finish);
    signal?.addEventListener("abort", finish);
  });
}
