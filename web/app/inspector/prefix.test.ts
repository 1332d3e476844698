import { describe, expect, it } from "vitest";

import { changeOf, prefixOf } from "./prefix";
import { recorder, wholeTurn } from "./recorded";

const prefix = (hash: string, components: Record<string, string>) => ({ hash, components, reasons: [] });

describe("what stood before the messages", () => {
  it("is told by the calls of a turn", () => {
    expect(prefixOf(wholeTurn())).toEqual({ hash: "aa", components: { identity: "1", style: "2" }, reasons: [] });
  });

  it("has the reasons for which a new generation began", () => {
    const make = recorder();
    const events = [
      make("warning", 1, { code: "prompt_changed", message: "", reasons: ["prompt_changed", "memory_changed"] }),
      make("warning", 2, { code: "prompt_too_long", message: "" }),
    ];
    expect(prefixOf(events).reasons).toEqual(["prompt_changed", "memory_changed"]);
  });

  it("stays while the hash does", () => {
    expect(changeOf(prefix("a", { style: "1" }), prefix("a", {}))).toMatchObject({ isSame: true, removed: [] });
  });

  it("names the components that were changed, added and taken away", () => {
    const change = changeOf(prefix("a", { style: "1", user: "1", tools: "1" }), prefix("b", { style: "2", tools: "1", skills: "3" }));
    expect(change).toEqual({ isSame: false, changed: ["style"], added: ["skills"], removed: ["user"], beside: false });
  });

  it("changed beside its components when none of them did", () => {
    expect(changeOf(prefix("a", { style: "1" }), prefix("b", { style: "1" })).beside).toBe(true);
  });

  it("is not compared with what is not known", () => {
    expect(changeOf(undefined, prefix("b", {})).isSame).toBeNull();
    expect(changeOf(prefixOf([]), prefix("b", {})).isSame).toBeNull();
  });
});
