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

test("a new chat begins with examples; the demo model has two more, of a call that waits and of a memory", () => {
  render(<Conversation session={null} />);
  expect(examples()).toHaveLength(3);
  app.set({ health: { demo: true, model: "demo" } });
  return waitFor(() => expect(examples().slice(3)).toEqual(["Note that the door code is 4711.", "Remember that I like a plain design style."]));
});

test("an example is asked as it stands", async () => {
  const asked = fakeServer({ "POST /api/sessions": { id: "s" } });
  render(<Conversation session={null} />);
  fireEvent.click(screen.getByRole("button", { name: "What is 17*23?" }));
  await waitFor(() => expect(asked.find(({ route }) => route.endsWith("/turns"))?.body).toMatchObject({ message: "What is 17*23?", on_conflict: "queue" }));
});
