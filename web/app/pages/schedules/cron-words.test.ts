import { expect, test } from "vitest";

import { cronOf, inPlainWords } from "./cron-words";
import { words } from "./schedule-words";

const en = (cron: string) => inPlainWords(cron, words.en.cronWords, "en");

test.each([
  ["0 8 * * *", "every day at 08:00"],
  ["30 8,12,18 * * *", /^every day at 08:30, 12:30,? and 18:30$/],
  ["0 8 * * 1-5", "every weekday at 08:00"],
  ["0 8 * * MON-FRI", "every weekday at 08:00"],
  ["0 9 * * 1", "every Monday at 09:00"],
  ["0 9 * * 7", "every Sunday at 09:00"],
  ["0 9 * * sat,0", "every Saturday and Sunday at 09:00"],
  ["0 9 * * 0-6", "every day at 09:00"],
  ["0 9 1 * *", "on the 1st of each month at 09:00"],
  ["0 9 2,3,22 * *", /^on the 2nd, 3rd,? and 22nd of each month at 09:00$/],
  ["0 9 11 * *", "on the 11th of each month at 09:00"],
  ["0 9 L * *", "on the last day of each month at 09:00"],
  ["0 9 24 12 *", /^every year on (December 24|24 December) at 09:00$/],
  ["0 9 24 DEC *", /^every year on (December 24|24 December) at 09:00$/],
  ["*/15 * * * *", "every 15 minutes"],
  ["* * * * *", "every minute"],
  ["5 * * * *", "every hour, 05 minutes past"],
  ["0 */6 * * *", "every 6 hours"],
  ["  0   8 * * * ", "every day at 08:00"],
])("%s is told in words", (cron, said) => {
  if (typeof said === "string") expect(en(cron)).toBe(said);
  else expect(en(cron)).toMatch(said);
});

test.each(["", "0 8", "0 8 * * * *", "0 8 1 * 1", "0 8 * * 1#2", "0 25 * * *", "60 8 * * *", "0 8 32 * *", "0 8 0 * *", "0 8 * 13 1", "5-1 8 * * *", "0 5-1 * * *", "10,20 8 * * *", "0 8 * 1-3 *",
  "*/0 * * * *", "5 */2 * * *", "0 8 * * 8", "0 8 LW * *", "@daily", "constructor 8 * * *"])("%j has no plain words", (cron) => {
  expect(en(cron)).toBeNull();
});

test("Chinese has them as well", () => {
  expect(inPlainWords("0 8 * * 1-5", words["zh-Hans"].cronWords, "zh-Hans")).toBe("每个工作日 08:00");
  expect(inPlainWords("0 9 * * 1,4", words["zh-Hans"].cronWords, "zh-Hans")).toBe("每周一和周四 09:00");
  expect(inPlainWords("0 9 1,15 * *", words["zh-Hant"].cronWords, "zh-Hant")).toBe("每月 1日和15日 09:00");
});

test("what is chosen is an expression, and reads as it was chosen", () => {
  expect(cronOf({ when: "daily", time: "08:05" })).toBe("5 8 * * *");
  expect(en(cronOf({ when: "weekdays", time: "00:00" }) ?? "")).toBe("every weekday at 00:00");
  expect(en(cronOf({ when: "weekly", time: "23:59", days: [0, 3] }) ?? "")).toBe("every Wednesday and Sunday at 23:59");
  expect(en(cronOf({ when: "monthly", time: "08:00", day: "L" }) ?? "")).toBe("on the last day of each month at 08:00");
  expect(cronOf({ when: "weekly", time: "08:00", days: [] })).toBeNull();
  expect(cronOf({ when: "daily", time: "" })).toBeNull();
});
