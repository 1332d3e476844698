import { expect, test } from "vitest";

import { fileNameOf, kindOfCode, kindOfFile } from "./previewed";

test("what can be looked at is told by its language, or by its file", () => {
  expect(kindOfCode("HTML", "")).toBe("html");
  expect(kindOfCode("mermaid", "")).toBe("mermaid");
  expect(kindOfCode("xml", '<?xml version="1.0"?>\n<svg viewBox="0 0 1 1"/>')).toBe("svg");
  expect(kindOfCode("xml", "<note/>")).toBeUndefined();
  expect(kindOfCode("python", "")).toBeUndefined();
  expect(kindOfCode("constructor", "")).toBeUndefined();
  expect(kindOfCode("", "<html>")).toBeUndefined();
  expect(kindOfFile({ mime: "text/html; charset=utf-8" })).toBe("html");
  expect(kindOfFile({ mime: "text/plain", name: "Notes.MD" })).toBe("markdown");
  expect(kindOfFile({ mime: "application/json", name: "a.json" })).toBeUndefined();
  expect(kindOfFile({ name: "a.constructor" })).toBeUndefined();
});

test("it is saved under its own name, or under one that its kind ends", () => {
  expect(fileNameOf({ kind: "html", name: "index.html", text: "" })).toBe("index.html");
  expect(fileNameOf({ kind: "mermaid", name: "Diagram", text: "" })).toBe("Diagram.mmd");
});
