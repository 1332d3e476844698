import { render, screen } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";

import { AboutModels } from "./AboutModels";
import { fakeServer } from "./fake-server";
import { aboutModel } from "./known-models";
import { words } from "./frame-words";
import { ModelChoice } from "./ModelChoice";
import { settings } from "./settings";
import { app } from "./state";

const GEMMA = {
  id: "gemma3-270m", is_default: true, images: false, pdfs: false, tools: true,
  context_window: { tokens: 8192, source: "endpoint" as const }, max_output: { tokens: 2048, source: "endpoint" as const },
};

beforeEach(() => {
  localStorage.clear();
  settings.set({ language: "en" });
});

test("the settings say what each model reads, writes and does not take, and what its operator should know", async () => {
  fakeServer({ "GET /api/models": { models: [GEMMA], notices: ["Set GATEWAY_MODEL."] } });
  render(<AboutModels />);
  await screen.findByText("reads 8,192 tokens · writes up to 2,048 · no images · no PDFs");
  expect(screen.getByText("gemma3-270m")).toBeTruthy();
  expect(screen.getByText("Set GATEWAY_MODEL.")).toBeTruthy();
});

test("the head names the model that the endpoint has, with what is known of it", async () => {
  fakeServer({ "GET /api/models": { models: [GEMMA], notices: [] } });
  app.set({ health: { demo: false, model: "claude-sonnet-5-5" } });
  render(<><AboutModels /><ModelChoice session={null} /></>);
  const head = await screen.findByTitle(/^reads 8,192 tokens/);
  expect(head.textContent).toBe("gemma3-270m");
});

test("a model that is to be retired says when, in the reader's language", () => {
  const old = { ...GEMMA, lifecycle: "deprecated" as const, retires_at: "2027-02-01" };
  expect(aboutModel(old, words.en, "en")).toMatch(/to be retired on 2027-02-01$/);
  expect(aboutModel({ ...GEMMA, lifecycle: "retired" }, words["zh-Hans"], "zh-Hans")).toMatch(/不看图片 · 不看 PDF · 即将停用$/);
});
