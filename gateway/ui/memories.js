// What is remembered across chats: the list with a search, a filter and the way out of here.

import { downloadLines, request } from "./api.js";
import { byId, make, save } from "./dom.js";
import { MemoryRow } from "./memory_row.js";
import { Profiles } from "./profiles.js";
import { inWords, words } from "./words.js";

const TYPING_MS = 200;
const PAGE = 30;

export class Memories {
  constructor() {
    this.menu = byId("memory");
    this.box = byId("memory-search");
    this.which = byId("memory-which");
    this.list = byId("memory-list");
    this.note = byId("memory-note");
    this.more = byId("memory-more");
    this.asked = 0;
    this.typing = null;
    this.profiles = new Profiles((text) => this.tell(text));
    this.menu.addEventListener("toggle", () => this.menu.open && (this.show(), this.profiles.show()));
    this.which.addEventListener("change", () => this.show());
    this.box.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.show(), TYPING_MS);
    });
    this.more.addEventListener("click", () => this.show(this.next));
    byId("memory-export").addEventListener("click", () => this.export());
  }

  // From `cursor` on, below what is there already; without one anew.
  async show(cursor) {
    const asked = this.asked += 1;
    this.tell(words.working);
    try {
      const { memories, next } = await request("GET", this.path(cursor));
      if (asked !== this.asked) return; // an answer that was overtaken is dropped
      if (this.note.textContent === words.working) this.tell(""); // what was told meanwhile stays
      const rows = memories.map((memory) => this.row(memory));
      if (cursor) this.list.append(...rows);
      else this.list.replaceChildren(...(rows.length ? rows : [make("li", "empty", this.isNarrowed ? words.notFound : words.noMemories)]));
      this.next = next;
      this.more.hidden = !next;
      if (cursor) rows[0]?.querySelector("summary").focus(); // the button may be gone
    } catch (error) {
      if (asked === this.asked) this.tell(inWords(error));
    }
  }

  get isNarrowed() {
    return Boolean(this.which.value || this.box.value.trim());
  }

  path(cursor) {
    const query = new URLSearchParams(this.which.value);
    query.set("limit", PAGE);
    if (this.box.value.trim()) query.set("q", this.box.value.trim());
    if (cursor) query.set("before", cursor);
    return `/api/memory?${query}`;
  }

  row(memory) {
    return new MemoryRow(memory, {
      tell: (text) => this.tell(text), onGone: (row) => this.remove(row), onReplaced: () => this.showAnew(),
    }).root;
  }

  async showAnew() {
    await this.show();
    (this.list.querySelector("summary") ?? this.box).focus();
  }

  remove(row) {
    const beside = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    if (!beside) this.list.replaceChildren(make("li", "empty", this.isNarrowed ? words.notFound : words.noMemories));
    (beside?.querySelector("summary") ?? this.box).focus();
  }

  async export() {
    this.tell(words.working);
    try {
      save(await downloadLines("/api/memory/export"), "memories.jsonl");
      this.tell(words.exported);
    } catch (error) {
      this.tell(inWords(error));
    }
  }

  tell(text) {
    this.note.textContent = text;
  }
}
