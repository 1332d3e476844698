// Requests with a key where one is needed, and refusals as errors.

import type { Problem } from "./api.js";
import { parseExact } from "./json.js";

/** The server said no. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly code: string;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    readonly status: number,
    problem: Partial<Problem> = {},
    /** Seconds, as `Retry-After` has them. */
    readonly retryAfter?: number,
    readonly requestId?: string,
  ) {
    super(problem.message ?? `The server answered ${status}.`);
    this.code = problem.code ?? `http_${status}`;
    this.retryable = problem.retryable ?? [408, 429, 502, 503, 504].includes(status);
    this.details = problem.details ?? {};
  }
}

/** No answer came: the network said no, not the server. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
  readonly code = "unreachable";
  readonly retryable = true;
}

export interface ClientOptions {
  /** Where the gateway is, with its path prefix if it has one. Absent: where this page is from. */
  readonly url?: string;
  readonly key?: string;
  /** The user whom a delegate key acts for. */
  readonly user?: string;
  /** Asks for a key after a 401, `wasWrong` when one had been given; `refused.details.sign_in` is the path where a
   * browser signs in, if there is one. `undefined` gives up: the request is refused. All requests wait for one answer. */
  readonly onKeyNeeded?: (wasWrong: boolean, refused: Refused) => Promise<string | undefined>;
  /** Instead of the global one. */
  readonly fetch?: typeof fetch;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export class Connection {
  private key: string | undefined;
  private asking: Promise<string | undefined> | undefined;
  private readonly base: string;

  constructor(private readonly options: ClientOptions) {
    this.key = options.key;
    this.base = (options.url ?? "").replace(/\/+$/, "");
  }

  /** From now on, in place of the one before. */
  setKey(key: string | undefined): void {
    this.key = key;
  }

  /** The address of a path below the gateway's. */
  address(path: string, query: Query = {}): string {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    return `${this.base}${path}${text && `?${text}`}`;
  }

  /** A response that is no refusal; `via` instead of the client's `fetch`. Throws `Refused` or `Unreachable`, or what
   * `signal` aborted with. */
  async send(path: string, init: RequestInit = {}, query?: Query, via?: typeof fetch): Promise<Response> {
    for (;;) {
      const key = this.key;
      const headers = new Headers(init.headers);
      if (key) headers.set("Authorization", `Bearer ${key}`);
      if (this.options.user) headers.set("X-User-Id", this.options.user);
      const response = await this.reach(this.address(path, query), { ...init, headers, cache: "no-store" }, via);
      if (response.ok) return response;
      const refused = await refusal(response);
      if (response.status !== 401 || !await this.renewKey(key, refused)) throw refused;
    }
  }

  /** The JSON that a request is answered with; `body` is sent as JSON. */
  async ask<T>(method: string, path: string, options: { body?: unknown; query?: object; headers?: HeadersInit; signal?: AbortSignal | undefined } = {}): Promise<T> {
    const headers = new Headers(options.headers);
    headers.set("Accept", "application/json");
    const init: RequestInit = { method, headers, signal: options.signal ?? null };
    if (options.body !== undefined) {
      headers.set("Content-Type", "application/json");
      init.body = JSON.stringify(options.body);
    }
    const response = await this.send(path, init, options.query as Query);
    const text = await reading(response.text());
    return (text ? parseExact(text) : undefined) as T;
  }

  private async reach(address: string, init: RequestInit, via: typeof fetch = this.options.fetch ?? fetch): Promise<Response> {
    return reading(via(address, init));
  }

  /** Whether there is another key than `used` now. */
  private async renewKey(used: string | undefined, refused: Refused): Promise<boolean> {
    if (!this.options.onKeyNeeded) return false;
    if (this.key === used) {
      this.asking ??= this.options.onKeyNeeded(Boolean(used), refused).finally(() => { this.asking = undefined; });
      this.key = await this.asking ?? used;
    }
    return this.key !== used;
  }
}

/** What a promise of fetch gives; a failure of the network is `Unreachable`. */
export async function reading<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof TypeError) throw new Unreachable(error.message, { cause: error });
    throw error;
  }
}

async function refusal(response: Response): Promise<Refused> {
  const { error, request_id: id } = await response.json().catch(() => ({})) as { error?: Problem; request_id?: string };
  const wait = Number(response.headers.get("Retry-After") ?? NaN);
  return new Refused(response.status, error, Number.isFinite(wait) ? wait : undefined, id);
}
