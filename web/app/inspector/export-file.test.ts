import { describe, expect, it } from "vitest";

import { BadFile, readRecording } from "./export-file";
import { wholeTurn } from "./recorded";

const event = (each: object) => JSON.stringify({ kind: "event", body: each });
const head = "{\"kind\":\"session\",\"format\":4,\"id\":\"s_1\",\"title\":\"Sums\"}";
const end = "{\"kind\":\"end\",\"counts\":{},\"sha256\":\"\"}";
const file = (...lines: string[]) => new Blob([lines.map((line) => `${line}\n`).join("")]);
const refusal = async (...lines: string[]) => {
  const error: unknown = await readRecording(file(...lines)).catch((reason: unknown) => reason);
  return error instanceof BadFile ? `${error.reason} ${error.line}` : error;
};

describe("an exported session", () => {
  it("is read with its title and its events, and nothing else of it", async () => {
    const message = "{\"kind\":\"message\",\"position\":1,\"turn_id\":\"t_1\",\"role\":\"user\",\"content\":[]}";
    const { title, events } = await readRecording(file(head, message, ...wholeTurn().map(event), end));
    expect(title).toBe("Sums");
    expect(events).toEqual(wholeTurn());
  });

  it("may be a file with an event a line, without an end", async () => {
    const { events } = await readRecording(new Blob([wholeTurn().map((each) => JSON.stringify(each)).join("\n")]));
    expect(events).toHaveLength(wholeTurn().length);
  });

  it("keeps characters that lie across two reads", async () => {
    const [first] = wholeTurn();
    const long = { ...first, data: { input: "花生".repeat(100_000) } };
    const { events } = await readRecording(file(head, event(long), end));
    expect((events[0]?.data as { input: string }).input).toBe("花生".repeat(100_000));
  });

  it.each([
    ["something else", "not_json 1", ["hello"]],
    ["the export of all chats", "all_chats 0", ["{\"kind\":\"sessions\",\"version\":1}"]],
    ["JSON of another kind", "no_event 1", ["{\"a\":1}"]],
    ["a line that is cut", "not_json 2", [head, event(wholeTurn()[0] as object).slice(0, -9)]],
    ["an event without a number", "no_event 2", [head, event({ type: "done", data: {} })]],
    ["numbers that go back", "order 3", [head, event(wholeTurn()[1] as object), event(wholeTurn()[0] as object)]],
    ["an export without its end", "cut_off 2", [head, event(wholeTurn()[0] as object)]],
    ["an export that failed", "export_failed 2", [head, "{\"kind\":\"error\",\"code\":\"x\",\"message\":\"gone\"}"]],
    ["a session without events", "no_events 2", [head, end]],
  ])("is refused with the line and the reason: %s", async (_, reason, lines) => {
    expect(await refusal(...lines)).toBe(reason);
  });
});
