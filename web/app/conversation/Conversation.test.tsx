import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";

import { settings } from "../settings";
import { fakeServer } from "../fake-server";
import { app, NOTHING } from "../state";
import { NEW_CHAT } from "../page-address";
import { Conversation } from "./Conversation";

beforeEach(() => {
  localStorage.clear();
  settings.set({ language: "en" });
  app.set({ ...NOTHING, replay: null, place: NEW_CHAT, health: null });
});

const examples = () => [...document.querySelectorAll(".example")].map(({ textContent }) => textContent);

test("a new chat begins with suggestions; with the demo model those are what it can show", async () => {
  render(<Conversation session={null} />);
  expect(examples()).toEqual([]); // which model it is is not known yet
  app.set({ health: { demo: false, model: "m" } });
  await waitFor(() => expect(examples()).toHaveLength(4));
  app.set({ health: { demo: true, model: "demo" } });
  await waitFor(() => expect(examples()).toContain("Note that the door code is 4711."));
  expect(examples()).toContain("Remember that I like a plain design style.");
});

test("an example is asked as it stands", async () => {
  const asked = fakeServer({ "POST /api/sessions": { id: "s" } });
  app.set({ health: { demo: true, model: "demo" } });
  render(<Conversation session={null} />);
  fireEvent.click(screen.getByRole("button", { name: "What is 17*23?" }));
  await waitFor(() => expect(asked.find(({ route }) => route.endsWith("/turns"))?.body).toMatchObject({ message: "What is 17*23?", on_conflict: "queue" }));
});
