// The catalog of skills: what the model may use, by kind, each with a switch.

import { request } from "./api.js";
import { byId, make } from "./dom.js";
import { Grants } from "./grants.js";
import { inWords, words } from "./words.js";

export class Skills {
  constructor() {
    this.menu = byId("skills");
    this.type = byId("skill-type");
    this.list = byId("skill-list");
    this.note = byId("skills-note");
    this.grants = new Grants((text) => this.tell(text));
    this.asked = 0;
    this.menu.addEventListener("toggle", () => this.menu.open && this.open());
    this.type.addEventListener("change", () => this.show());
    byId("skills-refresh").addEventListener("click", () => this.show(() => request("POST", "/api/skills/refresh")));
  }

  async open() {
    await this.show();
    await this.grants.show();
  }

  // `first` is done before the list is asked for.
  async show(first = async () => {}) {
    const asked = this.asked += 1;
    const type = this.type.value;
    this.tell(words.working);
    try {
      await first();
      const { skills, warnings } = await request("GET", `/api/skills${type ? `?type=${type}` : ""}`);
      if (asked !== this.asked) return; // an answer that was overtaken is dropped
      this.tell("");
      byId("skill-warnings").replaceChildren(...warnings.map((warning) => make("li", "", warning)));
      this.list.replaceChildren(...(skills.length ? skills.map(row) : [make("li", "empty", words.noSkills)]));
      for (const each of this.list.querySelectorAll("button")) each.addEventListener("click", () => this.turn(each));
    } catch (error) {
      if (asked === this.asked) this.tell(inWords(error));
    }
  }

  async turn(toggle) {
    toggle.disabled = true;
    try {
      const enabled = toggle.getAttribute("aria-checked") !== "true";
      const skill = await request("PATCH", `/api/skills/${encodeURIComponent(toggle.dataset.name)}`, { enabled });
      toggle.setAttribute("aria-checked", String(skill.enabled));
      this.tell("");
    } catch (error) {
      this.tell(error.status === 409 ? words.cannotSwitch : inWords(error));
    }
    toggle.disabled = false;
    toggle.focus();
  }

  tell(text) {
    this.note.textContent = text;
  }
}

function row({ name, type, description, source, location, enabled }) {
  const about = make("span", "about", make("b", "", name), " ", make("small", "", `${words.skillTypes[type] ?? type} · ${source}`),
    make("span", "description", description));
  const toggle = make("button", "", about, make("span", "switch"));
  toggle.type = "button";
  toggle.title = location;
  toggle.dataset.name = name;
  toggle.setAttribute("role", "switch");
  toggle.setAttribute("aria-checked", String(enabled));
  toggle.setAttribute("aria-label", name);
  return make("li", "", toggle);
}
