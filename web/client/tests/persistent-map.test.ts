// @vitest-environment node

import fc from "fast-check";
import { expect, test } from "vitest";

import { PersistentMap } from "../src/index.js";
import "./setup.js";

// Each two of them have one hash.
const COLLIDING = ["costarring", "liquid", "declinate", "macallums", "altarage", "zinke", "altarages", "zinkes"];
const KEYS = fc.oneof(fc.constantFrom(...COLLIDING), fc.constantFrom("", "__proto__", "你好"), fc.string({ maxLength: 2 }));

test("a map has what was put into it last and not taken out, and older ones stay as they were", () => {
  fc.assert(fc.property(fc.array(fc.tuple(KEYS, fc.option(fc.nat(3), { nil: undefined })), { maxLength: 200 }), (given) => {
    let map = PersistentMap.empty<number>();
    const known = new Map<string, number>();
    const kept: { map: PersistentMap<number>; entries: string }[] = [];
    const entries = (of: Iterable<readonly [string, number]>): string => JSON.stringify([...of].sort(([a], [b]) => a < b ? -1 : 1));
    for (const [key, value] of given) {
      kept.push({ map, entries: entries(known) });
      const same = map.get(key) === value;
      const next = value === undefined ? map.without(key) : map.with(key, value);
      expect(next === map).toBe(same);
      map = next;
      if (value === undefined) known.delete(key);
      else known.set(key, value);
      expect([map.get(key), map.size]).toEqual([value, known.size]);
    }
    expect(entries(map)).toBe(entries(known));
    for (const each of kept) expect(entries(each.map)).toBe(each.entries);
    expect(map.get("never put")).toBeUndefined();
  }));
});
