// The files that go with the next message: chosen, dropped or pasted, and uploaded at once.

import { byId } from "./dom.js";
import { Uploaded } from "./uploads.js";
import { fill, words } from "./words.js";

const MAX_FILES = 20; // files of a message

export class Attachments {
  constructor({ onFull }) {
    this.tray = byId("tray");
    this.note = byId("tray-note");
    this.files = new Set();
    this.callOff = () => {}; // ends the waiting of `ready`
    this.told = { onRemove: (file) => this.remove(file), onFull };
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
    const room = MAX_FILES - this.files.size;
    this.tell(files.length > room ? fill(words.tooManyFiles, { count: MAX_FILES }) : "");
    for (const file of [...files].slice(0, room)) this.files.add(new Uploaded({ file }, this.told));
    this.draw();
    byId("input").focus();
  }

  // Artifacts come back as files; with `lost`, the trouble of one of them, by its reference.
  restore(artifacts, lost) {
    for (const file of this.chipsOf(artifacts)) {
      if (lost.has(file.artifact.ref)) file.fail(lost.get(file.artifact.ref));
      this.files.add(file);
    }
    this.draw();
  }

  chipsOf(artifacts) {
    return artifacts.map((artifact) => new Uploaded({ artifact }, this.told));
  }

  // Other files take the place of these, which stay as they are.
  swap(files) {
    this.callOff();
    this.tell("");
    this.files = files;
    this.draw();
  }

  draw() {
    this.tray.replaceChildren(...[...this.files].map(({ root }) => root));
    this.tray.hidden = !this.files.size;
  }

  remove(file) {
    this.files.delete(file);
    this.tell("");
    this.callOff();
    file.drop();
    this.draw();
    byId("input").focus();
  }

  // The artifacts of the files once all are there; null when one is missing, or one is removed meanwhile.
  async ready() {
    this.tell([...this.files].some(({ artifact }) => !artifact) ? words.uploading : "");
    let isOff = false;
    const off = new Promise((resolve) => {
      this.callOff = () => {
        if (!isOff) this.tell(words.calledOff);
        isOff = true;
        resolve();
      };
    });
    let asked;
    do {
      asked = this.files.size;
      await Promise.race([off, Promise.all([...this.files].map(({ done }) => done))]);
      if (isOff) return null;
    } while (asked !== this.files.size); // one more was attached meanwhile
    this.callOff = () => {};
    const found = [...this.files].map(({ artifact }) => artifact);
    const isComplete = found.every(Boolean);
    this.tell(isComplete ? "" : words.notUploaded);
    return isComplete ? found : null;
  }

  tell(text) {
    this.note.textContent = text;
  }
}
