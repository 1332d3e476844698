import { act, fireEvent, render, screen } from "@testing-library/react";
import { beforeEach, expect, test, vi } from "vitest";

import { violations } from "./axe";
import { caller } from "./caller";
import { fakeServer, Refusal } from "./fake-server";
import { ProviderKey } from "./ProviderKey";
import { settings } from "./settings";
import { client } from "./state";

const NONE = { is_set: false, serving: "gateway", accepted: true };
const SET = { is_set: true, ending: "0001", set_at: Date.UTC(2026, 4, 20, 12), serving: "user", accepted: true };
const KEY = "sk-of-the-reader-0001";
const ROUTE = "/api/provider-key";

beforeEach(() => {
  localStorage.clear();
  settings.set({ language: "en" });
  caller.set({ me: null });
});

test("a key is set, told by its ending, and removed; the page keeps nothing of it", async () => {
  let now: object = NONE;
  const asked = fakeServer({
    [`GET ${ROUTE}`]: () => now, [`PUT ${ROUTE}`]: () => now = SET, [`DELETE ${ROUTE}`]: () => { now = NONE; },
  });
  render(<ProviderKey />);
  await screen.findByText(/^No key is set\..*with the server's key\.$/);
  expect(screen.queryByRole("button", { name: "Remove key" })).toBeNull();

  const field = screen.getByLabelText<HTMLInputElement>("Your own key of the model's provider");
  expect(field.type).toBe("password");
  fireEvent.change(field, { target: { value: ` ${KEY}\n` } });
  fireEvent.click(screen.getByRole("button", { name: "Save key" }));
  await screen.findByText(/^A key that ends in 0001 is set, since May 20, 2026\..*answered with it\.$/);
  expect(asked.find(({ route }) => route === `PUT ${ROUTE}`)?.body).toEqual({ key: KEY });
  expect(field.value).toBe("");
  expect(document.body.textContent + JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)])).not.toContain(KEY);
  expect(await violations()).toEqual([]);

  fireEvent.click(screen.getByRole("button", { name: "Remove key" }));
  await screen.findByText(/^No key is set\./);
  expect(screen.getByRole("status").textContent).toBe("The key is removed.");
});

test("a gateway that takes no keys has no form for one", async () => {
  fakeServer({ [`GET ${ROUTE}`]: { ...NONE, accepted: false } });
  const ask = vi.spyOn(client, "providerKey");
  const { container } = render(<ProviderKey />);
  await act(async () => { await ask.mock.results[0]?.value; });
  expect(ask).toHaveBeenCalledOnce();
  expect(container.childElementCount).toBe(0);
});

test("who may only read sees the state, and no form", async () => {
  fakeServer({ [`GET ${ROUTE}`]: SET });
  caller.set({ me: { user_id: "r", tenant: "default", roles: ["reader"], scopes: ["read"], has_key: true, signed_in: false, is_admin: false, models: [] } });
  render(<ProviderKey />);
  await screen.findByText(/ends in 0001/);
  expect(screen.queryByRole("button")).toBeNull();
  expect(await violations()).toEqual([]);
});

test("a refused key stays in its field, and it is said why", async () => {
  fakeServer({ [`GET ${ROUTE}`]: NONE, [`PUT ${ROUTE}`]: new Refusal(422, "invalid_request", "key: must be visible ASCII") });
  render(<ProviderKey />);
  const field = await screen.findByLabelText<HTMLInputElement>(/Your own key/);
  fireEvent.change(field, { target: { value: "schlüssel" } });
  fireEvent.click(screen.getByRole("button", { name: "Save key" }));
  await screen.findByText("key: must be visible ASCII");
  expect(field.value).toBe("schlüssel");
});

test("a key that the server cannot open is told, and can be removed", async () => {
  let isThere = true;
  fakeServer({
    [`GET ${ROUTE}`]: () => isThere ? new Refusal(500, "decryption_failed", "It does not open with any key.") : NONE,
    [`DELETE ${ROUTE}`]: () => { isThere = false; },
  });
  render(<ProviderKey />);
  expect((await screen.findByRole("alert")).textContent).toBe("It does not open with any key.");
  expect(await violations()).toEqual([]);
  fireEvent.click(screen.getByRole("button", { name: "Remove key" }));
  await screen.findByText(/^No key is set\./);
});
