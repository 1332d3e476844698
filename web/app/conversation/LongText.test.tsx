import { render } from "@testing-library/react";
import type { ReactNode } from "react";
import { expect, it } from "vitest";

import { LongText, partsOf } from "./LongText";

const lines = Array.from({ length: 5_000 }, (_, place) => `line ${place}`).join("\n");

it("is cut at the ends of lines, and nothing of it is lost", () => {
  expect(partsOf(lines, false).join("\n")).toBe(lines);
  expect(partsOf(lines, true).length).toBeGreaterThan(3);
  expect(partsOf("a short one\n", true)).toEqual(["a short one\n"]);
});

it("is cut between words where lines are long, in a word where there is no other place, and in no letter", () => {
  expect(partsOf("word ".repeat(10_000), true).join(" ")).toBe("word ".repeat(10_000));
  expect(partsOf("word ".repeat(10_000), false)).toHaveLength(1);
  const parts = partsOf(`a${"😀".repeat(30_000)}`, true);
  expect(parts.length).toBeGreaterThan(2);
  expect(parts.some((part) => /[\ud800-\udbff]$/.test(part))).toBe(false);
  expect(parts.join("")).toBe(`a${"😀".repeat(30_000)}`);
});

it("keeps the parts that stand when it grows", () => {
  const before = partsOf(lines.slice(0, 30_000), true);
  expect(partsOf(lines, true).slice(0, before.length - 1)).toEqual(before.slice(0, -1));
});

it("stands in one piece while it is short", () => {
  const { container } = render(<p><LongText text="a short one" /></p>);
  expect(container.querySelector("span")).toBeNull();
  expect(container.textContent).toBe("a short one");
});

it("stands in one piece while its height need not be estimated, unless it grows", () => {
  const usual = lines.slice(0, 20_000);
  const parts = (drawn: ReactNode) => render(<p>{drawn}</p>).container.querySelectorAll("span").length;
  expect(parts(<LongText text={usual} wraps />)).toBe(0);
  expect(parts(<LongText text={usual} wraps grows />)).toBe(partsOf(usual, true).length);
  expect(parts(<LongText text={lines} wraps />)).toBe(partsOf(lines, true).length);
});
