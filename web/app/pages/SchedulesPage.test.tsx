import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";

import { violations } from "../axe";
import { settings } from "../settings";
import { chats } from "../sidebar/chats";
import { Refusal, fakeServer } from "../fake-server";
import SchedulesPage from "./SchedulesPage";

const EIGHT = Date.UTC(2030, 0, 7, 8);
const DAY = 86_400_000;

const schedule = (id: string, more = {}) => ({
  id, name: `News ${id}`, message: `What is new in ${id}?`, cron: "0 8 * * *", timezone: "UTC", late: "once", status: "active", due_at: EIGHT, created_at: 1, ...more,
});
const details = (id: string, runs: readonly object[], more = {}) => ({ ...schedule(id, more), upcoming: [EIGHT, EIGHT + DAY], runs });

beforeEach(() => {
  settings.set({ language: "en", developer: true });
  chats.store.set({ chats: [], state: "ready", approvals: [] });
});

const bodyOf = (asked: ReturnType<typeof fakeServer>, route: string) => asked.findLast((each) => each.route === route)?.body;
const field = (name: string) => screen.getByLabelText<HTMLInputElement>(name);

test("a schedule is made from what it sends and when, which is shown before", async () => {
  const all: object[] = [];
  const asked = fakeServer({
    "GET /api/schedules": () => ({ schedules: all }),
    "POST /api/schedules/preview": ({ cron }: { cron?: string }) => cron === "0 0 30 2 *" ? new Refusal(400, "invalid_schedule", "It is never due.") : { upcoming: [EIGHT, EIGHT + DAY] },
    "POST /api/schedules": () => {
      all.push(schedule("a"));
      return schedule("a");
    },
  });
  render(<SchedulesPage />);
  await screen.findByText("There is no schedule yet");
  fireEvent.click(screen.getByRole("button", { name: "New schedule" }));
  fireEvent.change(field("Message"), { target: { value: "What is new?" } });
  fireEvent.change(field("Time zone"), { target: { value: "UTC" } });
  fireEvent.change(field("When"), { target: { value: "cron" } });
  fireEvent.change(field("Cron expression"), { target: { value: "0 0 30 2 *" } });
  await screen.findByText("A message cannot be sent at that time. It is never due.");
  fireEvent.change(field("Cron expression"), { target: { value: "0 8 * * *" } });
  const next = await screen.findByText(/Jan 7, 2030/);
  expect(next.textContent).toMatch(/08:00.*UTC/);
  expect(await violations()).toEqual([]);
  fireEvent.click(screen.getByRole("button", { name: "Create" }));
  await screen.findByText("Created: News a");
  expect(bodyOf(asked, "POST /api/schedules")).toEqual({ message: "What is new?", cron: "0 8 * * *", timezone: "UTC", late: "once" });
  screen.getByRole("switch", { name: "Active: News a" });
});

test("a time is chosen in plain words, and none of them is a cron expression", async () => {
  settings.set({ developer: false });
  const asked = fakeServer({ "GET /api/schedules": { schedules: [] }, "POST /api/schedules/preview": { upcoming: [] }, "POST /api/schedules": schedule("a") });
  render(<SchedulesPage />);
  fireEvent.click(await screen.findByRole("button", { name: "New schedule" }));
  expect(within(field("When")).getAllByRole("option").map(({ textContent }) => textContent)).toEqual([
    "Every day", "Every weekday", "Every week", "Every month", "Once", "Every so often",
  ]);
  fireEvent.change(field("Message"), { target: { value: "Water" } });
  fireEvent.change(field("Time zone"), { target: { value: "UTC" } });
  fireEvent.change(field("Time"), { target: { value: "07:05" } });
  const isAsked = (cron: string) => waitFor(() => expect(bodyOf(asked, "POST /api/schedules/preview")).toEqual({ cron, timezone: "UTC" }));
  await isAsked("5 7 * * *");
  fireEvent.change(field("When"), { target: { value: "weekdays" } });
  await isAsked("5 7 * * 1-5");
  fireEvent.change(field("When"), { target: { value: "monthly" } });
  fireEvent.change(field("Day of the month"), { target: { value: "L" } });
  await isAsked("5 7 L * *");
  fireEvent.change(field("When"), { target: { value: "weekly" } });
  fireEvent.click(field("Sunday"));
  fireEvent.click(field("Thursday"));
  await isAsked("5 7 * * 0,1,4");
  expect(await violations()).toEqual([]);
  for (const each of ["Sunday", "Thursday", "Monday"]) fireEvent.click(field(each));
  expect(field("Monday").validity.valueMissing).toBe(true);
});

test("once is by the clocks of the zone, every so often is in seconds, into a chat and to a webhook", async () => {
  chats.store.set({ chats: [{ id: "s1", title: "Garden" }] as never });
  const asked = fakeServer({
    "GET /api/schedules": { schedules: [] }, "POST /api/schedules/preview": { upcoming: [] }, "POST /api/schedules": schedule("a"),
    "GET /api/webhooks": { webhooks: [{ id: "wh_1", url: "https://example.org/hook" }] },
  });
  render(<SchedulesPage />);
  fireEvent.click(await screen.findByRole("button", { name: "New schedule" }));
  fireEvent.change(field("Message"), { target: { value: "Water" } });
  fireEvent.change(field("When"), { target: { value: "at" } });
  fireEvent.change(field("Date and time"), { target: { value: "2030-01-07T08:00" } });
  fireEvent.change(field("Time zone"), { target: { value: "Europe/Berlin" } });
  await waitFor(() => expect(bodyOf(asked, "POST /api/schedules/preview")).toEqual({ at: "2030-01-07T08:00", timezone: "Europe/Berlin" }));
  fireEvent.change(field("When"), { target: { value: "every" } });
  fireEvent.change(field("Every"), { target: { value: "3" } });
  fireEvent.change(field("Where"), { target: { value: "s1" } });
  await screen.findByRole("option", { name: "https://example.org/hook" });
  fireEvent.change(field("Result also to"), { target: { value: "webhook:wh_1" } });
  fireEvent.click(screen.getByRole("button", { name: "Create" }));
  await waitFor(() => expect(bodyOf(asked, "POST /api/schedules")).toEqual({ message: "Water", every: 10_800, late: "once", session_id: "s1", destination: "webhook:wh_1" }));
});

test("it is paused and goes on; what the server paused says why", async () => {
  fakeServer({
    "GET /api/schedules": { schedules: [schedule("a"), schedule("b", { status: "paused", due_at: undefined, reason: "session_not_found" })] },
    "PATCH /api/schedules/a": ({ status }: { status: string }) => schedule("a", { status }),
    "PATCH /api/schedules/b": new Refusal(409, "schedule_ended"),
  });
  render(<SchedulesPage />);
  const on = await screen.findByRole("switch", { name: "Active: News a" });
  expect(on.closest("li")?.textContent).toMatch(/every day at 08:00.*next .*Jan 7, 2030/);
  fireEvent.click(on);
  await waitFor(() => expect(on.getAttribute("aria-checked")).toBe("false"));
  const off = screen.getByRole("switch", { name: "Active: News b" });
  expect(off.closest("li")?.textContent).toContain("paused · its chat was deleted");
  fireEvent.click(off);
  await screen.findByText("This schedule has ended. Make a new one.");
  expect(off.getAttribute("aria-checked")).toBe("false");
});

test("its last runs lead to their turns, and one that is under way is looked at again", async () => {
  let status = "started";
  fakeServer({
    "GET /api/schedules": { schedules: [schedule("a")] },
    "POST /api/schedules/a/run": schedule("a", { due_at: EIGHT - DAY }),
    "GET /api/schedules/a": () => {
      const shown = details("a", [
        { due_at: EIGHT - DAY, status, at: EIGHT, session_id: "s1", turn_id: "t1" }, { due_at: EIGHT - 2 * DAY, status: "refused", at: EIGHT, code: "model_not_allowed" },
      ]);
      status = "completed";
      return shown;
    },
  });
  render(<SchedulesPage />);
  fireEvent.click(await screen.findByRole("button", { name: "Run now: News a" }));
  await screen.findByText("News a runs in a moment");
  await screen.findByText(/Jan 6, 2030.*: is running/);
  const ended = await screen.findByText(/Jan 6, 2030.*: completed/);
  expect(within(ended).getByRole("link").getAttribute("href")).toBe("#s=s1&t=t1");
  screen.getByText(/refused \(model_not_allowed\)/);
  expect(await violations()).toEqual([]);
});

test("it is deleted after a second look", async () => {
  const asked = fakeServer({ "GET /api/schedules": { schedules: [schedule("a")] }, "DELETE /api/schedules/a": undefined });
  render(<SchedulesPage />);
  fireEvent.click(await screen.findByRole("button", { name: "Delete: News a" }));
  expect(bodyOf(asked, "DELETE /api/schedules/a")).toBeUndefined();
  fireEvent.click(screen.getByRole("button", { name: "Delete for good: News a" }));
  await screen.findByText("Deleted: News a");
  screen.getByText("There is no schedule yet");
});
