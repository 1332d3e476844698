// An exported session that is dropped on the page is played; every other file is the composer's.

import { settings } from "../settings";

const HEAD = "{\"kind\":\"session\"";

const passedOn = new WeakSet<Event>();

export function takeRecordings(): void {
  addEventListener("dragover", (event) => {
    // The browser would leave the page for the file.
    if (!event.defaultPrevented && event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  addEventListener("drop", (event) => {
    const files = event.dataTransfer?.files ?? [];
    const [file] = files;
    if (passedOn.has(event) || !file) return;
    event.preventDefault();
    if (files.length > 1 || !file.name.endsWith(".jsonl")) return;
    // What it is shows only when it is read, and an event does not wait.
    event.stopPropagation();
    const isHere = event.target instanceof Element && event.target.closest(".inspect") !== null;
    void play(file, isHere);
  }, { capture: true });
}

async function play(file: File, isHere: boolean): Promise<void> {
  if (!isHere && await file.slice(0, HEAD.length).text() !== HEAD) {
    const carried = new DataTransfer();
    carried.items.add(file);
    const drop = new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true });
    passedOn.add(drop);
    document.dispatchEvent(drop);
    return;
  }
  document.dispatchEvent(new DragEvent("dragleave")); // nothing is held over the page any more
  settings.set({ inspector: true });
  const { playFile } = await import("./replay");
  await playFile(file);
}
