// The reader's files that were kept aside: how much room they take, and the way to make some.

import { request } from "./api.js";
import { markGone, pathOf, sizeOf } from "./artifacts.js";
import { button, byId, make } from "./dom.js";
import { fill, inWords, language, words } from "./words.js";

const PAGE = 50;

export class Kept {
  // `onGone(ref)` is called when one was deleted.
  constructor({ onGone }) {
    this.dialog = byId("kept-dialog");
    this.list = byId("kept-list");
    this.more = byId("kept-more");
    this.onGone = onGone;
    byId("kept").addEventListener("click", () => this.open());
    byId("kept-close").addEventListener("click", () => this.dialog.close());
    this.more.addEventListener("click", () => this.show(this.next));
  }

  open() {
    this.list.replaceChildren();
    this.more.hidden = true;
    this.dialog.showModal();
    return this.show();
  }

  // From `before` on, below what is there already.
  async show(before) {
    this.tell(words.working);
    try {
      const { artifacts, next } = this.count(await this.read(before ? { limit: PAGE, before } : { limit: PAGE }));
      this.list.append(...artifacts.map((artifact) => this.row(artifact)));
      this.tellEmpty();
      this.next = next;
      this.more.hidden = !next;
    } catch (error) {
      this.tell(inWords(error));
    }
  }

  read(query) {
    return request("GET", `/api/artifacts?${new URLSearchParams(query)}`);
  }

  count(page) {
    this.tell(fill(words.roomTaken, { used: sizeOf({ size: page.used }), quota: sizeOf({ size: page.quota }) }));
    return page;
  }

  row(artifact) {
    const { ref, name = ref, size, created_at: at } = artifact;
    const when = new Date(at).toLocaleString(language, { dateStyle: "short", timeStyle: "short" });
    const about = make("span", "about", make("b", "", name), make("small", "", `${sizeOf({ size })} · ${when}`));
    const choices = make("span", "choices");
    const row = make("li", "", about, choices);
    const ask = () => {
      const sure = button(words.deleteNow, () => this.delete(artifact, row));
      sure.setAttribute("aria-label", `${words.deleteNow}: ${name}`);
      choices.replaceChildren(sure, " ", button(words.cancel, offer));
      sure.focus();
    };
    const offer = () => {
      const first = button(words.forget, ask);
      first.setAttribute("aria-label", `${words.forget}: ${name}`);
      choices.replaceChildren(first);
      first.focus();
    };
    offer();
    return row;
  }

  async delete({ ref }, row) {
    try {
      await request("DELETE", pathOf(ref));
    } catch (error) {
      if (error.status !== 404) return this.tell(inWords(error)); // it is gone already
    }
    const beside = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    (beside?.querySelector("button") ?? byId("kept-close")).focus();
    markGone(ref);
    this.onGone(ref);
    this.tellEmpty();
    return this.read({ limit: 1 }).then((page) => this.count(page), (error) => this.tell(inWords(error)));
  }

  tellEmpty() {
    if (!this.list.hasChildNodes()) this.list.replaceChildren(make("li", "empty", words.nothingKept));
  }

  tell(text) {
    byId("kept-note").textContent = text;
  }
}
