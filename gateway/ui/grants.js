// The tools that a person allowed to run without asking, each with a button that takes it back.

import { request } from "./api.js";
import { byId, make } from "./dom.js";
import { fill, inWords, words } from "./words.js";

export class Grants {
  // `tell(text)` says what went wrong.
  constructor(tell) {
    this.root = byId("grants");
    this.list = byId("grant-list");
    this.tell = tell;
  }

  async show() {
    try {
      const { grants } = await request("GET", "/api/grants");
      const byTool = new Map();
      for (const each of grants) byTool.set(each.tool, [...(byTool.get(each.tool) ?? []), each]);
      this.list.replaceChildren(...[...byTool].map(([tool, given]) => this.row(tool, given)));
      this.root.hidden = byTool.size === 0;
    } catch (error) {
      this.tell(inWords(error));
    }
  }

  row(tool, given) {
    const everywhere = given.some(({ session_id: session }) => session === undefined);
    const where = everywhere ? words.everyChat : fill(words.someChats, { count: given.length });
    const back = make("button", "", words.takeBack);
    back.type = "button";
    back.setAttribute("aria-label", fill(words.takeBackOf, { tool }));
    back.addEventListener("click", () => this.takeBack(tool, back));
    return make("li", "", make("span", "", make("b", "", tool), " ", make("small", "", where)), back);
  }

  async takeBack(tool, back) {
    back.disabled = true;
    try {
      await request("DELETE", `/api/grants/${encodeURIComponent(tool)}`);
    } catch (error) {
      if (error.status !== 404) { // it is gone already
        back.disabled = false;
        return this.tell(inWords(error));
      }
    }
    this.tell("");
    await this.show();
    return (this.list.querySelector("button") ?? byId("skills-refresh")).focus();
  }
}
