// What is being written: a text with its files. Each chat has its own, as long as the page is open.

import { Attachments } from "./attachments.js";
import { byId } from "./dom.js";
import { words } from "./words.js";

export class Composer {
  // `onSend(text, files)` sends a message, `isFree()` says whether it may; `onFull()` is called where there is no
  // room for a file.
  constructor({ onSend, isFree, onFull }) {
    this.input = byId("input");
    this.attachments = new Attachments({ onFull });
    this.onSend = onSend;
    this.isFree = isFree;
    this.chat = null;
    this.drafts = new Map(); // of the chats that are not on the screen
    this.input.placeholder = words.placeholder;
    this.listen();
  }

  listen() {
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.input.addEventListener("keydown", (event) => {
      // While a Chinese word is being composed, Enter chooses it; Safari ends the composition first (keyCode 229).
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
      event.preventDefault();
      byId("composer").requestSubmit();
    });
    this.input.addEventListener("input", () => this.grow());
    addEventListener("beforeunload", (event) => {
      if (this.isEmpty && !this.drafts.size) return;
      event.preventDefault();
    });
  }

  get isEmpty() {
    return !this.input.value.trim() && !this.attachments.files.size;
  }

  // What was written waits in its box for the files; without one of them it stays there.
  async send() {
    if (!this.isFree() || byId("send").disabled) return;
    if (!this.input.value.trim()) {
      if (this.attachments.files.size) this.attachments.tell(words.needsText);
      return;
    }
    byId("send").disabled = true;
    const files = await this.attachments.ready();
    byId("send").disabled = false;
    const text = this.input.value;
    if (files === null || !this.isFree() || !text.trim()) return;
    this.attachments.swap(new Set());
    this.write("");
    this.onSend(text, files);
  }

  // Brings a message back that was refused; what is written by now stands below it.
  restore(text, files, lost) {
    this.write([text, this.input.value].filter(Boolean).join("\n"));
    this.attachments.restore(files, lost);
  }

  // A message of a chat that is not on the screen any more was refused: it is that one's draft again.
  bringBack(chat, text, files) {
    const draft = this.drafts.get(chat) ?? { text: "", files: new Set() };
    draft.text = [text, draft.text].filter(Boolean).join("\n");
    for (const file of this.attachments.chipsOf(files)) draft.files.add(file);
    this.drafts.set(chat, draft);
  }

  // The draft of the chat that comes to the screen.
  show(chat) {
    if (chat === this.chat) return;
    if (!this.isEmpty) this.drafts.set(this.chat, { text: this.input.value, files: this.attachments.files });
    const { text = "", files = new Set() } = this.drafts.get(chat) ?? {};
    this.drafts.delete(chat);
    this.chat = chat;
    this.write(text);
    this.attachments.swap(files);
  }

  // The chat on the screen has an id only now, or none any more: its draft stays on the screen.
  rename(chat) {
    if (!this.drafts.has(chat)) this.chat = chat;
  }

  // A file was deleted: it goes with no message, and there may be room for another one.
  gone(ref) {
    const others = [...this.drafts.values()].flatMap(({ files }) => [...files]);
    for (const file of [...this.attachments.files, ...others]) file.afterDeletion(ref);
  }

  write(text) {
    this.input.value = text;
    this.grow();
  }

  grow() {
    this.input.style.height = "auto";
    this.input.style.height = `${Math.min(this.input.scrollHeight, 200)}px`;
  }
}
