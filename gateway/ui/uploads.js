// One file of the composer, from when it was chosen: it is uploaded at once.

import { Refused, mayHelp, request, upload } from "./api.js";
import { pathOf, sizeOf } from "./artifacts.js";
import { button, make } from "./dom.js";
import { fill, words } from "./words.js";

const unsent = new Set(); // references of what was uploaded here and went with no message

export function wereSent(files) {
  for (const { ref } of files) unsent.delete(ref);
}

const ATTEMPTS = 5; // of one upload, while the gateway takes no more at a time: those of another tab, perhaps
let last = Promise.resolve();

// One after the other: a gateway takes few of one user at a time.
function inTurn(act) {
  const done = last.then(act);
  last = done.catch(() => {});
  return done;
}

async function patiently(act) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await act();
    } catch (error) {
      if (error.status !== 429 || attempt === ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000 * attempt));
    }
  }
}

// A name as the server keeps it: the last part of a path, without what cannot be seen or turns the reading around.
function plainName(name) {
  return name.split(/[/\\]/).at(-1).replace(/[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu, "").trim();
}

// `artifact` is what became of the file, `done` ends when that is known.
export class Uploaded {
  // Of a `file`, or of an `artifact` that is there already. `onFull()` shows the way to more room.
  constructor({ file, artifact }, { onRemove, onFull }) {
    this.file = file;
    this.onFull = onFull;
    this.aborter = new AbortController();
    this.label = make("span", "name");
    this.state = make("small", "state");
    this.state.setAttribute("role", "status");
    this.remove = button("✕", () => onRemove(this));
    this.root = make("li", "chip", this.label, this.state, this.remove);
    this.rename(file ? plainName(file.name) || words.kinds.binary : artifact.name ?? artifact.ref);
    if (artifact) this.settle(artifact);
    else this.start();
  }

  start() {
    this.done = this.send();
  }

  async send() {
    this.artifact = null;
    this.code = null;
    this.root.className = "chip uploading";
    this.state.textContent = `${sizeOf({ size: this.file.size })} · ${words.uploading}`;
    try {
      if (!this.file.size) throw new Refused(400, { code: "empty_file" });
      const path = `/api/artifacts?${new URLSearchParams({ name: this.name, raw: 1 })}`;
      const type = this.file.type || "application/octet-stream";
      const send = () => upload(path, this.file, type, this.aborter.signal);
      const artifact = await inTurn(() => patiently(send));
      unsent.add(artifact.ref);
      if (this.aborter.signal.aborted) this.withdraw(artifact);
      else this.settle(artifact);
    } catch (error) {
      if (!this.aborter.signal.aborted) this.fail(error);
    }
  }

  settle(artifact) {
    this.artifact = artifact;
    this.root.className = "chip";
    this.rename(artifact.name ?? artifact.ref);
    this.state.textContent = artifact.size === undefined ? "" : sizeOf({ size: artifact.size });
  }

  fail(error) {
    this.artifact = null;
    this.code = error.code;
    this.root.className = "chip trouble";
    this.state.title = error.message;
    this.state.replaceChildren(inOurWords(error));
    if (error.code === "artifacts_full") this.state.append(" ", again(words.makeRoom, this.onFull));
    else if (this.file && mayHelp(error)) this.state.append(" ", button(words.again, () => this.start()));
  }

  rename(name) {
    this.name = this.label.textContent = this.root.title = name;
    this.remove.title = this.remove.ariaLabel = fill(words.removeFile, { name });
  }

  afterDeletion(ref) {
    if (this.artifact?.ref === ref) this.fail(new Refused(404, { code: "artifact_not_found" }));
    else if (this.code === "artifacts_full") this.start();
  }

  // It goes with no message: what was uploaded for it need not stay.
  drop() {
    this.aborter.abort();
    this.root.remove();
    if (this.artifact) this.withdraw(this.artifact);
  }

  withdraw({ ref }) {
    if (unsent.delete(ref)) request("DELETE", pathOf(ref)).catch(() => {}); // it expires
  }
}

// A button that can be pressed more than once.
function again(label, act) {
  const press = make("button", "small", label);
  press.type = "button";
  press.addEventListener("click", act);
  return press;
}

function inOurWords({ code, details = {} }) {
  if (details.artifact_max_size) return fill(words.tooLarge, { most: sizeOf({ size: details.artifact_max_size }) });
  return words.problems[code] ?? words.uploadFailed;
}
