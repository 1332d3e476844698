// What can be done with the chat on the screen: compress, undo, export, import, archive.

import { downloadLines, request, upload } from "./api.js";
import { count } from "./compressed.js";
import { byId, make, save } from "./dom.js";
import { fill, inWords, language, words } from "./words.js";

export class SessionMenu {
  // `current()` is the id of the session on the screen, null for none; `onOpen(id)` opens one, or draws it anew.
  constructor({ current, onOpen }) {
    this.menu = byId("session-menu");
    this.note = byId("session-note");
    this.versions = byId("versions");
    this.current = current;
    this.onOpen = onOpen;
    this.busy = false;
    this.actions = ["compress", "export", "archive"].map(byId);
    byId("compress").addEventListener("click", () => this.run((session) => this.compress(session), words.compressing));
    byId("export").addEventListener("click", () => this.run((session) => this.export(session)));
    byId("archive").addEventListener("click", () => this.run((session) => this.archive(session)));
    byId("import").addEventListener("click", () => byId("import-file").click());
    byId("import-file").addEventListener("change", ({ target }) => {
      const [file] = target.files;
      target.value = ""; // the same file can be chosen again
      if (file) this.run(() => this.import(file));
    });
    this.menu.addEventListener("toggle", () => {
      if (!this.menu.open) return;
      if (!this.busy) this.tell("");
      this.allow();
      this.list(this.current());
    });
  }

  // One thing at a time; what came of it, or what went wrong, is told in the menu.
  async run(act, meanwhile = words.working) {
    if (this.busy) return;
    this.busy = true;
    this.tell(meanwhile);
    this.allow();
    try {
      this.tell(await act(this.current()));
    } catch (error) {
      this.tell(inWords(error), true);
    }
    this.busy = false;
    this.allow();
  }

  async compress(session) {
    const made = await request("POST", `/api/sessions/${session}/compress`);
    await this.list(session);
    return `${fill(words.archivedRange, { first: made.from_position, last: made.to_position })}${words.comma}${tokensOf(made)}`;
  }

  async activate(session, version) {
    const known = await request("POST", `/api/sessions/${session}/compressions/${version}/activate`);
    if (session === this.current()) {
      this.draw(session, known);
      this.onOpen(session);
    }
    return version ? fill(words.activated, { version }) : words.activatedAll;
  }

  async export(session) {
    save(await downloadLines(`/api/sessions/${session}/export`), `${session}.jsonl`);
    return words.exported;
  }

  async import(file) {
    const { id, title } = await upload("/api/sessions/import", file);
    this.onOpen(id);
    return fill(words.imported, { title: title || words.untitled });
  }

  async archive(session) {
    const { number } = await request("POST", `/api/sessions/${session}/archive`);
    return number === undefined ? words.archivedAlready : words.archivedWhole;
  }

  async list(session) {
    this.versions.hidden = true;
    if (!session) return;
    const known = await request("GET", `/api/sessions/${session}/compressions`).catch(() => null); // a chat may be too new
    if (known && session === this.current()) this.draw(session, known);
  }

  draw(session, { active = 0, versions }) {
    const choices = [make("span", "", words.everything), ...versions.map((each) => make("span", "",
      fill(words.version, { version: each.version, first: each.from_position, last: each.to_position }),
      make("small", "", `${tokensOf(each)} · ${new Date(each.created_at).toLocaleString(language, { dateStyle: "short", timeStyle: "short" })}`)))];
    const items = choices.map((label, index) => {
      const version = index && versions[index - 1].version;
      const choose = make("button", version === active ? "chosen" : "", label);
      choose.type = "button";
      choose.setAttribute("aria-pressed", String(version === active));
      choose.addEventListener("click", () => this.run(() => this.activate(session, version)));
      return make("li", "", choose);
    });
    byId("version-list").replaceChildren(...items);
    this.versions.hidden = versions.length === 0;
  }

  allow() {
    for (const action of this.actions) action.disabled = this.busy || !this.current();
    byId("import").disabled = this.busy;
    for (const choose of this.versions.querySelectorAll("button")) choose.disabled = this.busy;
  }

  tell(text, isTrouble = false) {
    this.note.textContent = text;
    this.note.classList.toggle("trouble", isTrouble);
  }
}

function tokensOf({ tokens_before: before, tokens_after: after }) {
  return fill(words.fewerTokens, { before: count(before), after: count(after) });
}
