import { afterEach, expect, test, vi } from "vitest";

import { GatewayClient, Refused } from "../src/index.js";

interface Given { readonly status: number; readonly body: string; readonly headers?: string }

/** An XMLHttpRequest that sends half, then all, and is answered. */
function answering(given: readonly Given[]): { readonly sent: [string, string, Record<string, string>][] } {
  const answers = [...given];
  const sent: [string, string, Record<string, string>][] = [];
  vi.stubGlobal("XMLHttpRequest", class {
    status = 0;
    statusText = "";
    response: Blob | null = null;
    readonly upload: { onprogress?: (event: object) => void } = {};
    onload?: () => void;
    onabort?: () => void;
    private readonly headers: Record<string, string> = {};
    private heads = "";
    private target: [string, string] = ["", ""];
    open(method: string, address: string): void { this.target = [method, address]; }
    setRequestHeader(name: string, value: string): void { this.headers[name.toLowerCase()] = value; }
    getAllResponseHeaders(): string { return this.heads; }
    abort(): void { this.onabort?.(); }
    send(): void {
      sent.push([...this.target, this.headers]);
      const answer = answers.shift();
      if (!answer) return;
      for (const loaded of [1, 2]) this.upload.onprogress?.({ lengthComputable: true, loaded, total: 2 });
      this.status = answer.status;
      this.heads = answer.headers ?? "Content-Type: application/json\r\n";
      this.response = new Blob([answer.body]);
      this.onload?.();
    }
  });
  return { sent };
}

afterEach(() => vi.unstubAllGlobals());

test("an upload tells how far it is", async () => {
  const { sent } = answering([{ status: 201, body: '{"ref":"ART-1"}' }]);
  const shares: number[] = [];
  const client = new GatewayClient({ url: "http://gateway", key: "k" });
  expect(await client.keepArtifact(new Blob(["ab"], { type: "text/plain" }), { name: "a.txt" }, { onProgress: (share) => shares.push(share) })).toEqual({ ref: "ART-1" });
  expect(shares).toEqual([0.5, 1]);
  expect(sent).toEqual([["POST", "http://gateway/api/artifacts?name=a.txt&raw=1", { "accept": "application/json", "authorization": "Bearer k", "content-type": "text/plain" }]]);
});

test("what is refused is refused as anything else", async () => {
  answering([{ status: 413, body: '{"error":{"code":"payload_too_large","message":"Too large.","retryable":false},"request_id":"r"}' }]);
  const client = new GatewayClient({ url: "http://gateway" });
  const refused = await client.keepArtifact(new Blob(["ab"]), {}, { onProgress: () => undefined }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(Refused);
  expect(refused).toMatchObject({ status: 413, code: "payload_too_large" });
});

test("one that is called off ends", async () => {
  answering([]);
  const ending = new AbortController();
  const client = new GatewayClient({ url: "http://gateway" });
  const upload = client.keepArtifact(new Blob(["ab"]), {}, { signal: ending.signal, onProgress: () => undefined });
  await Promise.resolve();
  ending.abort();
  await expect(upload).rejects.toMatchObject({ name: "AbortError" });
});
