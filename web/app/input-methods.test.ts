import { expect, test } from "vitest";

import { keepInputMethodsApart } from "./input-methods";

function press(field: HTMLElement, key: string, more: KeyboardEventInit = {}, code = 0): { event: KeyboardEvent; heard: number } {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  Object.defineProperty(event, "keyCode", { value: code });
  let heard = 0;
  const hear = () => {
    heard += 1;
  };
  field.addEventListener("keydown", hear);
  field.dispatchEvent(event);
  field.removeEventListener("keydown", hear);
  return { event, heard };
}

test("keys with which a word is composed reach no field, and send no form", () => {
  keepInputMethodsApart();
  const field = document.body.appendChild(document.createElement("input"));
  for (const key of ["Enter", "Escape", "ArrowDown"]) expect(press(field, key, { isComposing: true }).heard).toBe(0);

  const safari = press(field, "Enter", {}, 229);
  expect([safari.heard, safari.event.defaultPrevented]).toEqual([0, true]);

  const plain = press(field, "Enter", {}, 13);
  expect([plain.heard, plain.event.defaultPrevented]).toEqual([1, false]);
});
