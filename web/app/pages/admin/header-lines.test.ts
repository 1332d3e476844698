import { describe, expect, it } from "vitest";

import { headersOf } from "./header-lines";

describe("lines of headers", () => {
  it("have a name and a value, with colons in it", () => {
    expect(headersOf("Authorization: Bearer a:b\n\n X-Two :2 ")).toEqual({ Authorization: "Bearer a:b", "X-Two": "2" });
  });

  it("that are not there leave what is kept", () => {
    expect(headersOf(" \n ")).toBeUndefined();
  });

  it("without a name or a value are none", () => {
    expect([headersOf("Bearer a"), headersOf(": a"), headersOf("X-One:"), headersOf("X One: a")]).toEqual([null, null, null, null]);
  });
});
