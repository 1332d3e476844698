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
