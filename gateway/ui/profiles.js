// The few facts that stand in every prompt: the reader's own, and those of their households, a line each.

import { request } from "./api.js";
import { byId, make } from "./dom.js";
import { fill, inWords, words } from "./words.js";

export class Profiles {
  constructor(tell) {
    this.box = byId("profiles");
    this.tell = tell;
  }

  async show() {
    try {
      const { profiles } = await request("GET", "/api/profiles");
      this.box.lastElementChild.replaceChildren(...profiles.map((profile) => this.form(profile)));
      this.box.hidden = false;
    } catch (error) {
      this.tell(inWords(error));
    }
  }

  form(profile) {
    const name = profile.kind === "user" ? words.ownProfile : fill(words.householdProfile, { household: profile.id });
    const lines = make("textarea");
    lines.value = Object.entries(profile.fields).map(([key, value]) => `${key}: ${value.replace(/\s+/g, " ")}`).join("\n");
    lines.rows = Math.max(3, Object.keys(profile.fields).length + 1);
    lines.placeholder = words.profileHint;
    const form = make("form", "edit", make("label", "", name, lines),
      make("div", "actions", make("button", "small", words.saveEdit)));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.save(profile, lines.value, form);
    });
    return form;
  }

  // Only over the version that was shown: what somebody else wrote meanwhile is shown instead.
  async save(profile, text, form) {
    const fields = fieldsOf(text);
    if (!fields) return this.tell(words.profileHint);
    try {
      const saved = await request("PUT", `/api/profiles/${profile.kind}/${encodeURIComponent(profile.id)}`, { fields },
        { "If-Match": `"${profile.version}"` });
      form.replaceWith(this.form(saved));
      this.tell(words.profileSaved);
    } catch (error) {
      this.tell(inWords(error));
      if (error.code === "memory_changed") await this.show();
    }
  }
}

// `name: value` lines, with a colon of either width; null when one is none.
function fieldsOf(text) {
  const pairs = text.split("\n").filter((line) => line.trim()).map((line) => line.match(/^([^:：]+)[:：](.+)$/));
  return pairs.every(Boolean) ? Object.fromEntries(pairs.map(([, name, value]) => [name.trim(), value.trim()])) : null;
}
