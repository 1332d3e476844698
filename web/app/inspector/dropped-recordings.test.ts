import { waitFor } from "@testing-library/react";
import { beforeAll, beforeEach, expect, it, vi } from "vitest";

import { app, NOTHING } from "../state";
import { takeRecordings } from "./dropped-recordings";
import { wholeTurn } from "./recorded";

const exported = ["{\"kind\":\"session\",\"format\":4,\"id\":\"s_9\",\"title\":\"Herons\"}", ...wholeTurn().map((body) => JSON.stringify({ kind: "event", body })), "{\"kind\":\"end\",\"counts\":{}}"];
const composer = vi.fn();

function drop(text: string, name: string): void {
  const event = new Event("drop", { bubbles: true, cancelable: true });
  Object.defineProperty(event, "dataTransfer", { value: { types: ["Files"], files: [new File([text], name)] } });
  document.body.dispatchEvent(event);
}

beforeAll(() => {
  takeRecordings();
  document.addEventListener("drop", composer);
  vi.stubGlobal("DataTransfer", class {
    files: File[] = [];
    items = { add: (file: File) => this.files.push(file) };
  });
  vi.stubGlobal("DragEvent", class extends Event {
    dataTransfer: unknown;
    constructor(type: string, init: EventInit & { dataTransfer?: unknown } = {}) {
      super(type, init);
      this.dataTransfer = init.dataTransfer;
    }
  });
});

beforeEach(() => {
  composer.mockClear();
  app.set({ ...NOTHING, replay: null });
});

it("plays an exported session, which the composer does not get", async () => {
  drop(exported.join("\n"), "chat.jsonl");
  await waitFor(() => expect(app.get().replay?.recording).toBe("Herons"));
  expect(composer).not.toHaveBeenCalled();
});

it("leaves other files to the composer, those of lines of JSON too", async () => {
  drop("{\"a\":1}\n", "data.jsonl");
  await waitFor(() => expect(composer).toHaveBeenCalledTimes(1));
  drop("hello", "notes.txt");
  expect(composer).toHaveBeenCalledTimes(2);
  expect(app.get().replay).toBeNull();
});
