// An exported session that is dropped on the page is played. What takes a drop itself, as the composer, comes first.

import { settings } from "../settings";

export function takeRecordings(): void {
  addEventListener("dragover", (event) => {
    if (!event.defaultPrevented && event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  addEventListener("drop", (event) => {
    if (event.defaultPrevented || !event.dataTransfer?.types.includes("Files")) return;
    // The browser would leave the page for the file.
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (!file || event.dataTransfer.files.length > 1 || !file.name.endsWith(".jsonl")) return;
    settings.set({ inspector: true });
    void import("./replay").then(({ playFile }) => playFile(file));
  });
}
