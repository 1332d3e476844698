import type { api } from "@chat-gateway/client";
import { act, fireEvent, render, screen, within } from "@testing-library/react";
import { beforeEach, expect, test, vi } from "vitest";

import { violations } from "./axe";
import { caller } from "./caller";
import { fakeServer, Refusal } from "./fake-server";
import { ProviderKeys } from "./ProviderKey";
import { settings } from "./settings";
import { client } from "./state";

const NONE = { is_set: false, serving: "gateway", accepted: true };
const SET = { is_set: true, ending: "0001", set_at: Date.UTC(2026, 4, 20, 12), serving: "user", accepted: true };
const KEY = "sk-of-the-reader-0001";
const ROUTE = "/api/provider-key", OF_TENANT = "/api/tenant/provider-key";
const ADMIN: api.Caller = { user_id: "a", tenant: "default", roles: ["admin"], scopes: ["chat", "read", "admin"], has_key: true, signed_in: false, is_admin: true, is_operator: true, public_links: false, models: [] };

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
  render(<ProviderKeys />);
  await screen.findByText(/^No key is set\..*use the server's key\.$/);
  expect(screen.queryByRole("button", { name: "Remove key" })).toBeNull();

  const field = screen.getByLabelText<HTMLInputElement>("Your own model provider key");
  expect(field.type).toBe("password");
  fireEvent.change(field, { target: { value: ` ${KEY}\n` } });
  fireEvent.click(screen.getByRole("button", { name: "Save key" }));
  await screen.findByText(/^A key that ends in 0001 is set, since May 20, 2026\..*use this key\.$/);
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
  const { container } = render(<ProviderKeys />);
  await act(async () => { await ask.mock.results[0]?.value; });
  expect(ask).toHaveBeenCalledOnce();
  expect(container.childElementCount).toBe(0);
});

test("who may only read sees the state, and no form", async () => {
  fakeServer({ [`GET ${ROUTE}`]: SET });
  caller.set({ me: { user_id: "r", tenant: "default", roles: ["reader"], scopes: ["read"], has_key: true, signed_in: false, is_admin: false, is_operator: false, public_links: false, models: [] } });
  render(<ProviderKeys />);
  await screen.findByText(/ends in 0001/);
  expect(screen.queryByRole("button")).toBeNull();
  expect(await violations()).toEqual([]);
});

test.each([
  ["en", "Your tenant's model provider key", /^No key is set\..*For admins: used for everybody/, /ends in 0001.*For admins/, "Save key", "Remove key"],
  ["zh-Hans", "租户的模型密钥", /^没有设置密钥。.*管理员设置/, /以 0001 结尾.*管理员设置/, "保存密钥", "删除密钥"],
  ["zh-Hant", "租戶的模型金鑰", /^沒有設定金鑰。.*管理員設定/, /以 0001 結尾.*管理員設定/, "儲存金鑰", "刪除金鑰"],
] as const)("an admin sets and removes the tenant's key, in %s", async (language, label, none, set, save, remove) => {
  let now: object = NONE;
  const asked = fakeServer({
    [`GET ${ROUTE}`]: NONE, [`GET ${OF_TENANT}`]: () => now,
    [`PUT ${OF_TENANT}`]: () => now = SET, [`DELETE ${OF_TENANT}`]: () => { now = NONE; },
  });
  settings.set({ language });
  caller.set({ me: ADMIN });
  render(<ProviderKeys />);
  const field = await screen.findByLabelText<HTMLInputElement>(label);
  const form = within(field.form ?? document.body);
  form.getByText(none);
  fireEvent.change(field, { target: { value: KEY } });
  fireEvent.click(form.getByRole("button", { name: save }));
  await form.findByText(set);
  expect(asked.find(({ route }) => route === `PUT ${OF_TENANT}`)?.body).toEqual({ key: KEY });
  expect(asked.some(({ route }) => route === `PUT ${ROUTE}`)).toBe(false);
  expect(field.value).toBe("");
  expect(await violations()).toEqual([]);

  fireEvent.click(form.getByRole("button", { name: remove }));
  await form.findByText(none);
});

test("who is no admin is not asked about the tenant's key, nor is an admin's key without the scope", async () => {
  const asked = fakeServer({ [`GET ${ROUTE}`]: NONE });
  caller.set({ me: { ...ADMIN, is_admin: false } });
  const { unmount } = render(<ProviderKeys />);
  await screen.findByText(/^No key is set\./);
  unmount();
  caller.set({ me: { ...ADMIN, scopes: ["chat", "read"] } });
  render(<ProviderKeys />);
  await screen.findByText(/^No key is set\./);
  expect(asked.some(({ route }) => route.includes("tenant"))).toBe(false);
});

test("a refused key stays in its field, and it is said why", async () => {
  fakeServer({ [`GET ${ROUTE}`]: NONE, [`PUT ${ROUTE}`]: new Refusal(422, "invalid_request", "key: must be visible ASCII") });
  render(<ProviderKeys />);
  const field = await screen.findByLabelText<HTMLInputElement>(/Your own model provider key/);
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
  render(<ProviderKeys />);
  expect((await screen.findByRole("alert")).textContent).toBe("It does not open with any key.");
  expect(await violations()).toEqual([]);
  fireEvent.click(screen.getByRole("button", { name: "Remove key" }));
  await screen.findByText(/^No key is set\./);
});
