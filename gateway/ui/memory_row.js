// One memory in the list: what it is, why and since when, and what can be done with it.

import { request } from "./api.js";
import { byId, make } from "./dom.js";
import { fill, inWords, language, words } from "./words.js";

let asked = 0; // fields made so far: labels need ids

export class MemoryRow {
  // `tell(text)` says what went wrong; `onGone(root)` is called when the memory is no more, `onReplaced()` when
  // another one says it now.
  constructor(memory, { tell, onGone, onReplaced }) {
    this.tell = tell;
    this.onGone = onGone;
    this.onReplaced = onReplaced;
    this.root = make("li");
    this.draw(memory);
  }

  draw(memory) {
    this.memory = memory;
    this.body = make("div", "whole");
    this.details = make("details", "", make("summary", "", ...head(memory)), this.body);
    this.details.addEventListener("toggle", () => this.details.open && this.load());
    this.root.replaceChildren(this.details);
  }

  async load() {
    try {
      this.tell("");
      const whole = await request("GET", this.path());
      this.memory = whole;
      this.details.querySelector("summary").replaceChildren(...head(whole));
      this.body.replaceChildren(...about(whole), this.actions(whole));
    } catch (error) {
      this.tell(inWords(error));
    }
  }

  actions({ source, pinned, quarantined, status }) {
    if (source === "document") return make("div");
    const buttons = [
      quarantined && [words.confirm, () => this.change("POST", "/confirm")],
      [words.edit, () => this.edit()],
      [pinned ? words.unpin : words.pin, () => this.change("PATCH", "", { pinned: !pinned })],
      status === "active" && [words.suppress, () => this.correct("suppress")],
      status === "active" && [words.freeze, () => this.correct("freeze")],
      status !== "replaced" && [words.replace, () => this.replace()],
      (status === "frozen" || status === "suppressed") && [words.useAgain, () => this.correct("activate")],
      [words.forget, () => this.remove("DELETE")],
      [words.erase, () => this.erase()],
    ];
    return make("div", "actions", ...buttons.filter(Boolean).map(([label, act]) => press(label, act)));
  }

  correct(action) {
    return this.after(this.tried("POST", "/api/memory/correct", { memory_id: this.memory.id, action }));
  }

  edit() {
    const content = area(this.memory.content);
    const weight = make("select");
    weight.append(...[1, 2, 3, 4, 5].map((each) => new Option(each, each)));
    weight.value = this.memory.importance;
    this.ask([[words.content, content], [words.weight, weight]], words.saveEdit, () =>
      this.change("PATCH", "", { content: content.value, importance: Number(weight.value) }));
  }

  replace() {
    const content = area(this.memory.content);
    this.ask([[words.newContent, content]], words.replaceNow, async () => {
      const given = { memory_id: this.memory.id, action: "replace", new_content: content.value };
      if (await this.tried("POST", "/api/memory/correct", given)) await this.onReplaced();
    });
  }

  // A form with these [name, field] in the place of what is told of the memory; `act` is called when it is sent.
  ask(fields, done, act) {
    for (const [, field] of fields) field.id = `memory-field-${asked += 1}`;
    const form = make("form", "edit", ...fields.flatMap(([name, field]) => [label(field, name), field]),
      make("div", "actions", make("button", "small", done), press(words.cancel, () => this.load().then(() => this.focus()))));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      act();
    });
    this.body.replaceChildren(form);
    fields[0][1].focus();
  }

  async erase() {
    const dialog = byId("erase-dialog");
    byId("erase-what").textContent = this.memory.content;
    dialog.returnValue = "";
    dialog.showModal();
    await new Promise((closed) => dialog.addEventListener("close", closed, { once: true }));
    if (dialog.returnValue === "erase") await this.remove("POST", "/erase");
  }

  change(method, path, fields) {
    return this.after(this.tried(method, this.path() + path, fields));
  }

  async after(trying) {
    if (!await trying) return;
    await this.load();
    this.focus();
  }

  async remove(method, path = "") {
    if (await this.tried(method, this.path() + path)) this.onGone(this.root);
  }

  // Only what was seen is changed: a version that is newer refuses, and is shown.
  async tried(method, path, fields) {
    try {
      await request(method, path, fields, { "If-Match": `"${this.memory.version}"` });
      this.tell("");
      return true;
    } catch (error) {
      if (error.code === "memory_changed") await this.load();
      this.tell(inWords(error));
      return false;
    }
  }

  focus() {
    this.details.querySelector("summary").focus();
  }

  path() {
    return `/api/memory/${encodeURIComponent(this.memory.id)}`;
  }
}

function head({ summary, type, importance, pinned, status, quarantined, origin, tools = [] }) {
  const facts = [words.memoryTypes[type] ?? type, fill(words.importance, { importance }), pinned && words.pinned, words.memoryStates[status],
    words.origins[origin], origin !== "user" && tools.length && fill(words.after, { tools: tools.join(", ") })];
  return [make("span", "gist", summary), make("small", "", facts.filter(Boolean).join(" · ")),
    quarantined ? make("span", "waits", words.toConfirm) : null].filter(Boolean);
}

function about({ content, summary, flagged, tags = [], evidence = [], versions = [] }) {
  const parts = content === summary ? [] : [make("p", "content", content)];
  if (flagged) parts.push(make("p", "flagged", fill(words.checkAgain, { reason: flagged })));
  if (tags.length) parts.push(make("p", "tags", tags.map((tag) => `#${tag}`).join(" ")));
  if (evidence.length) parts.push(make("h3", "", words.quotes), make("ul", "", ...evidence.map(quoted)));
  if (versions.length) parts.push(make("h3", "", words.history), make("ol", "", ...versions.map((each, at) => changed(each, versions[at - 1]))));
  return parts;
}

function quoted({ session_id: session, quote, author }) {
  const chat = make("a", "", words.inChat);
  chat.href = `#s=${encodeURIComponent(session)}`;
  return make("li", "", fill(author === "assistant" ? words.proposed : words.said, { quote }), " ", chat);
}

// One version; its text where it is another than that of the version `before`.
function changed({ version, operation, actor, reason, at, content }, before) {
  const time = new Date(at).toLocaleString(language, { dateStyle: "short", timeStyle: "short" });
  const facts = { version, operation: words.operations[operation] ?? operation, by: actor, at: time };
  return make("li", "", fill(words.memoryVersion, facts), make("small", "reason", reason),
    content === before?.content ? null : make("p", "was", content));
}

function area(value) {
  return Object.assign(make("textarea"), { value, rows: 3, required: true });
}

function press(name, act) {
  const element = make("button", "small", name);
  element.type = "button";
  element.addEventListener("click", async () => {
    element.disabled = true;
    await act();
    element.disabled = false;
  });
  return element;
}

function label(element, text) {
  return Object.assign(make("label", "", text), { htmlFor: element.id });
}
