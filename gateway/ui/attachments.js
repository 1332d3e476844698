// The files that go with the next message: chosen, dropped or pasted, and uploaded at once.

import { upload } from "./api.js";
import { sizeOf } from "./artifacts.js";
import { button, byId, make } from "./dom.js";
import { fill, inWords, words } from "./words.js";

const MOST = 20; // files of a message

export class Attachments {
  constructor() {
    this.tray = byId("tray");
    this.note = byId("tray-note");
    this.files = new Set();
    const chooser = byId("attach-files");
    byId("attach").title = words.attach;
    byId("attach").addEventListener("click", () => chooser.click());
    chooser.addEventListener("change", () => {
      this.add(chooser.files);
      chooser.value = ""; // the same file can be chosen again
    });
    byId("input").addEventListener("paste", (event) => {
      const { files, types } = event.clipboardData;
      if (!files.length || types.includes("text/plain")) return; // a table comes as an image, too
      event.preventDefault();
      this.add(files);
    });
    this.listenToDrops();
  }

  // Anywhere on the page: a browser would leave it for the file otherwise.
  listenToDrops() {
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
    const mark = (isOver) => document.body.classList.toggle("dropping", isOver);
    document.addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      mark(true);
    });
    document.addEventListener("dragleave", (event) => event.relatedTarget === null && mark(false));
    document.addEventListener("drop", (event) => {
      mark(false);
      if (!hasFiles(event)) return;
      event.preventDefault();
      this.add(event.dataTransfer.files);
    });
  }

  add(files) {
    const room = MOST - this.files.size;
    this.tell(files.length > room ? fill(words.tooManyFiles, { count: MOST }) : "");
    for (const file of [...files].slice(0, room)) {
      const attached = new Uploaded(file, () => this.remove(attached));
      this.files.add(attached);
      this.tray.append(attached.root);
    }
    this.tray.hidden = !this.files.size;
    byId("input").focus();
  }

  remove(file) {
    this.files.delete(file);
    file.drop();
    this.tell("");
    this.tray.hidden = !this.files.size;
    byId("input").focus();
  }

  // The artifacts of the files once all are there; null when one is missing.
  async ready() {
    this.tell([...this.files].some(({ artifact }) => !artifact) ? words.uploading : "");
    let asked;
    do {
      asked = this.files.size;
      await Promise.all([...this.files].map(({ done }) => done));
    } while (asked !== this.files.size); // one more was attached meanwhile
    const found = [...this.files].map(({ artifact }) => artifact);
    const isComplete = found.every(Boolean);
    this.tell(isComplete ? "" : words.notUploaded);
    return isComplete ? found : null;
  }

  clear() {
    for (const file of this.files) this.remove(file);
  }

  tell(text) {
    this.note.textContent = text;
  }
}

// One file, from when it was chosen: `artifact` is what became of it, `done` ends when that is known.
class Uploaded {
  constructor(file, onRemove) {
    this.file = file;
    this.aborter = new AbortController();
    this.state = make("small", "state");
    this.state.setAttribute("role", "status");
    const remove = button("✕", onRemove);
    remove.setAttribute("aria-label", fill(words.removeFile, { name: file.name }));
    this.root = make("li", "chip", make("span", "name", file.name), this.state, remove);
    this.start();
  }

  start() {
    this.done = this.send();
  }

  async send() {
    this.artifact = null;
    this.root.className = "chip uploading";
    this.state.textContent = `${sizeOf(this.file)} · ${words.uploading}`;
    try {
      if (!this.file.size) throw Object.assign(new Error(), { code: "empty_file" });
      const path = `/api/artifacts?${new URLSearchParams({ name: this.file.name, raw: 1 })}`;
      this.artifact = await upload(path, this.file, this.file.type || "application/octet-stream", this.aborter.signal);
      this.root.className = "chip";
      this.state.textContent = sizeOf({ size: this.artifact.size });
    } catch (error) {
      if (this.aborter.signal.aborted) return;
      this.root.className = "chip trouble";
      this.state.replaceChildren(`${inWords(error)} `, button(words.again, () => this.start()));
    }
  }

  drop() {
    this.aborter.abort();
    this.root.remove();
  }
}
