// The list of the reader's chats, with a box that searches what was said in them.

import { request } from "./api.js";
import { byId, make } from "./dom.js";
import { inWords, language, words } from "./words.js";

const TYPING_MS = 200;

export class Chats {
  // `onChoose(id)` opens a session; `current()` is the one on the screen.
  constructor({ onChoose, current }) {
    this.menu = byId("sessions");
    this.box = byId("session-search");
    this.list = byId("session-list");
    this.onChoose = onChoose;
    this.current = current;
    this.asked = 0;
    this.typing = null;
    this.menu.addEventListener("toggle", () => this.menu.open && this.show());
    this.box.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.show(), TYPING_MS);
    });
  }

  async show() {
    const asked = this.asked += 1;
    const query = this.box.value.trim();
    let rows;
    try {
      const search = query ? `&q=${encodeURIComponent(query)}` : "";
      const { sessions } = await request("GET", `/api/sessions?limit=20${search}`);
      rows = sessions.length ? sessions.map((session) => this.row(session)) : [make("li", "empty", query ? words.notFound : words.noSessions)];
    } catch (error) {
      rows = [make("li", "empty", inWords(error))];
    }
    if (asked === this.asked) this.list.replaceChildren(...rows); // an answer that was overtaken is dropped
  }

  row({ id, title, updated_at: at }) {
    const choose = make("button", id === this.current() ? "chosen" : "", make("span", "", title || words.untitled),
      make("time", "", new Date(at).toLocaleString(language, { dateStyle: "short", timeStyle: "short" })));
    choose.type = "button";
    choose.addEventListener("click", () => {
      this.menu.open = false;
      this.onChoose(id);
    });
    return make("li", "", choose);
  }
}
