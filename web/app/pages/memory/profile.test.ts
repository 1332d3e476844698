import { expect, test } from "vitest";

import { fieldsOf, textOf } from "./profile";

test("a line is a fact, with a colon of either width", () => {
  expect(fieldsOf("name: 李雷\n\n时区：Asia/Shanghai: +8\n")).toEqual({ name: "李雷", 时区: "Asia/Shanghai: +8" });
  expect(textOf({ name: "李\n雷" })).toBe("name: 李 雷");
});

test("what is no fact is not taken", () => {
  expect(fieldsOf("no fact")).toBeNull();
  expect(fieldsOf("")).toEqual({});
});
