// A server for tests of components: answers by method and path, and what was asked of it.

import { vi } from "vitest";

type Answers = Readonly<Record<string, unknown>>;

export interface Asked {
  readonly route: string;
  readonly query: string;
  readonly body: unknown;
  readonly headers: Headers;
}

export class Refusal {
  constructor(readonly status: number, readonly code: string, readonly message = code) {}
}

// `answers` has by "METHOD /path" a JSON value, a Response, a promise of one, or a function that makes one; `new Refusal(…)` is one.
export function fakeServer(answers: Answers): Asked[] {
  const asked: Asked[] = [];
  vi.stubGlobal("fetch", (address: string, init: RequestInit = {}) => {
    const { pathname, searchParams, search } = new URL(address, "http://localhost/");
    const route = `${init.method ?? "GET"} ${pathname}`;
    const body: unknown = typeof init.body === "string" ? JSON.parse(init.body) : init.body;
    asked.push({ route, query: search, body, headers: new Headers(init.headers) });
    const given = route in answers ? answers[route] : new Refusal(404, "not_found", `no answer to ${route}`);
    const answer: unknown = typeof given === "function" ? (given as (body: unknown, query: URLSearchParams) => unknown)(body, searchParams) : given;
    return Promise.resolve(answer).then(responseOf);
  });
  return asked;
}

function responseOf(answer: unknown): Response {
  if (answer instanceof Response) return answer;
  if (answer instanceof Refusal) {
    const { status, code, message } = answer;
    return Response.json({ error: { code, message, retryable: false }, request_id: "r" }, { status });
  }
  return answer === undefined ? new Response(null, { status: 204 }) : Response.json(answer);
}
