import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";

import { violations } from "../axe";
import { settings } from "../settings";
import { History } from "./History";
import { Refusal, fakeServer } from "../fake-server";

const version = (number: number, to: number) => ({ version: number, from_position: 1, to_position: to, tokens_before: 9000, tokens_after: 800, created_at: 1 });

function open(answers: Readonly<Record<string, unknown>>) {
  const asked = fakeServer({ "GET /api/sessions/s/compressions": { active: 0, versions: [] }, ...answers });
  render(<History session="s" onClose={() => undefined} />);
  return asked;
}

const press = (name: string | RegExp) => fireEvent.click(screen.getByRole("button", { name }));
const inForce = () => screen.getAllByRole("button", { pressed: true }).map(({ textContent }) => textContent);

beforeEach(() => settings.set({ language: "en" }));

test("what was compressed is told, and the version in force can be changed back and forth", async () => {
  let known: object = { active: 0, versions: [] };
  const asked = open({
    "GET /api/sessions/s/compressions": () => known,
    "POST /api/sessions/s/compress": () => {
      known = { active: 1, versions: [version(1, 4)] };
      return version(1, 4);
    },
    "POST /api/sessions/s/compressions/0/activate": { active: 0, versions: [version(1, 4)] },
    "POST /api/sessions/s/compressions/1/activate": { active: 1, versions: [version(1, 4)] },
  });
  await waitFor(() => expect(asked).toHaveLength(1));
  press("Compress now");
  await screen.findByText("Messages 1 to 4 are a summary now. 9,000 → 800 tokens");
  expect(inForce()[0]).toContain("Version 1: a summary of messages 1 to 4");
  expect(await violations()).toEqual([]);
  press("Every message, word for word");
  await screen.findByText("The model sees every message again.");
  expect(inForce()).toEqual(["Every message, word for word"]);
  press(/Version 1/);
  await screen.findByText("Version 1 is used from the next message on.");
});

test.each([
  ["en", new Refusal(409, "nothing_to_compress"), "There is nothing to compress yet."],
  ["en", reasoned("newest_turn_only"), "There is nothing to compress yet: the newest exchange always stays word for word."],
  ["zh-Hans", reasoned("newest_turn_only"), "目前没有可压缩的内容：最新一轮对话始终保留原文。"],
  ["en", new Refusal(502, "summary_refused"), "The model refused to write a summary."],
] as const)("what cannot be compressed is told in plain words: %s", async (language, refusal, expected) => {
  settings.set({ language });
  open({ "POST /api/sessions/s/compress": () => refusal instanceof Response ? refusal.clone() : refusal });
  press(language === "en" ? "Compress now" : "立即压缩");
  await screen.findByText(expected);
});

function reasoned(reason: string): Response {
  return Response.json({ error: { code: "nothing_to_compress", message: "No.", retryable: false, details: { reason } }, request_id: "r" }, { status: 409 });
}

test("what is moved to the archive is told once", async () => {
  let moved = true;
  open({ "POST /api/sessions/s/archive": () => ({ moved }) });
  press("Move to archive storage");
  await screen.findByText(/You can read everything as before/);
  moved = false;
  press("Move to archive storage");
  await screen.findByText("There was nothing new to move.");
});
