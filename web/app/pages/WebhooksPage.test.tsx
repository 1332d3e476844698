import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";

import { violations } from "../axe";
import { settings } from "../settings";
import { Refusal, fakeServer } from "../fake-server";
import WebhooksPage from "./WebhooksPage";

const URL_A = "https://a.example/hooks";
const webhook = (more = {}) => ({ id: "wh_a", url: URL_A, events: ["turn.finished", "approval.waiting"], created_at: 1, failures: 0, ...more });
const delivery = (number: number, more = {}) => ({ id: `msg_a_${number}`, type: "turn.finished", at: Date.UTC(2030, 0, 7, 8), state: "delivered", attempts: 1, ...more });

beforeEach(() => settings.set({ language: "en" }));

const bodyOf = (asked: ReturnType<typeof fakeServer>, route: string) => asked.findLast((each) => each.route === route)?.body;

test("one is added with what it is told of, and its secret is shown once", async () => {
  const all: object[] = [];
  let isRefused = true;
  const asked = fakeServer({
    "GET /api/webhooks": () => ({ webhooks: all }),
    "POST /api/webhooks": () => {
      if (isRefused) return new Refusal(400, "webhook_url_refused");
      all.push(webhook());
      return webhook({ secret: "whsec_c2VjcmV0" });
    },
  });
  render(<WebhooksPage />);
  await screen.findByText("No webhooks yet");
  fireEvent.click(screen.getByRole("button", { name: "New webhook" }));
  fireEvent.change(screen.getByLabelText("Address"), { target: { value: URL_A } });
  fireEvent.click(screen.getByLabelText("a quota is nearly used up"));
  fireEvent.click(screen.getByLabelText("a schedule failed"));
  expect(await violations()).toEqual([]);
  fireEvent.click(screen.getByRole("button", { name: "Add" }));
  await screen.findByText("A webhook needs an https:// address on a public host, or one that the operator allows.");
  isRefused = false;
  fireEvent.click(screen.getByRole("button", { name: "Add" }));
  await screen.findByText("whsec_c2VjcmV0");
  expect(bodyOf(asked, "POST /api/webhooks")).toEqual({ url: URL_A, events: ["turn.finished", "approval.waiting"] });
  await screen.findByRole("switch", { name: `Notify ${URL_A}` });
  expect(await violations()).toEqual([]);
});

test("it is tested, switched off and deleted after a second look", async () => {
  let tested: object = { delivered: false, duration_ms: 3, status: 500, error: "It answered 500." };
  fakeServer({
    "GET /api/webhooks": { webhooks: [webhook({ failures: 2 })] },
    "POST /api/webhooks/wh_a/test": () => tested,
    "PATCH /api/webhooks/wh_a": ({ enabled }: { enabled: boolean }) => webhook(enabled ? {} : { disabled_at: 2 }),
    "DELETE /api/webhooks/wh_a": undefined,
  });
  render(<WebhooksPage />);
  const on = await screen.findByRole("switch");
  expect(on.closest("li")?.textContent).toContain("an answer is finished, a call waits for you · failed 2 times in a row");
  fireEvent.click(screen.getByRole("button", { name: `Test: ${URL_A}` }));
  await screen.findByText("Not delivered: It answered 500.");
  tested = { delivered: true, duration_ms: 4, status: 204 };
  fireEvent.click(screen.getByRole("button", { name: `Test: ${URL_A}` }));
  await screen.findByText("Delivered: 204, 4 ms");
  fireEvent.click(on);
  await waitFor(() => expect(on.getAttribute("aria-checked")).toBe("false"));
  fireEvent.click(screen.getByRole("button", { name: `Delete: ${URL_A}` }));
  fireEvent.click(screen.getByRole("button", { name: `Delete for good: ${URL_A}` }));
  await screen.findByText(`Deleted: ${URL_A}`);
  screen.getByText("No webhooks yet");
});

test("what did not arrive says why and is tried again", async () => {
  let found = [delivery(2), delivery(1, { state: "dead", attempts: 8, error: "No answer within 15 seconds." })];
  const asked = fakeServer({
    "GET /api/webhooks": { webhooks: [webhook()] },
    "GET /api/webhooks/wh_a/deliveries": () => ({ deliveries: found }),
    "POST /api/webhooks/wh_a/replay": () => {
      found = [delivery(2), delivery(1, { state: "pending", attempts: 0 })];
      return { replayed: 1 };
    },
  });
  render(<WebhooksPage />);
  fireEvent.click(await screen.findByRole("button", { name: `Deliveries: ${URL_A}` }));
  const dead = (await screen.findByText("No answer within 15 seconds.")).closest("li");
  expect(dead?.textContent).toContain("an answer is finished, given up, 8 tries");
  fireEvent.click(screen.getByRole("button", { name: "Try again: msg_a_1" }));
  await screen.findByText("One delivery is tried again");
  expect(bodyOf(asked, "POST /api/webhooks/wh_a/replay")).toEqual({ delivery: "msg_a_1" });
  await screen.findByText(/pending, 0 tries/);
  expect(screen.queryByRole("button", { name: "Retry all failed deliveries" })).toBeNull();
});
