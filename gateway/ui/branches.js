// Below each question: ask it anew, change it, and ‹ 2/3 › where it was asked more than once.

import { persist, request } from "./api.js";
import { make } from "./dom.js";
import { fill, inWords, words } from "./words.js";

const PAGE = 1000; // events of one request
const MAX_PAGES = 20;

export class Branches {
  // `current()` is the session on the screen, `isFree()` whether no turn runs; `onChanged()` draws the session anew.
  constructor({ list, current, isFree, onChanged }) {
    this.list = list;
    this.current = current;
    this.isFree = isFree;
    this.onChanged = onChanged;
    this.clear();
  }

  clear() {
    this.turns = new Map(); // what was asked after which turn, by id; null: after none
    this.last = null; // the turn that ran last
    this.rows = [];
    this.active = 0;
  }

  // The turns and branches of a session whose history is on the screen: up to event `head`, without the turn `open`.
  async load(session, head, open) {
    const { active, branches } = await request("GET", `/api/sessions/${session}/branches`);
    for (let after = 0, count = 0; after !== undefined && count < MAX_PAGES; count += 1) {
      const path = `/api/sessions/${session}/events?types=turn_start,done&after=${after}&limit=${PAGE}`;
      const { events, next } = await request("GET", path);
      if (session !== this.current()) return;
      events.forEach((event) => this.take(event));
      after = next;
    }
    [this.active, this.rows] = [active, branches];
    const tip = branches.find(({ branch }) => branch === active)?.last_turn_id;
    this.name(tip, head, open);
    this.draw();
  }

  take({ type, turn_id: id, seq, data }) {
    if (type === "turn_start") {
      if (this.turns.has(id)) return;
      const parent = data.parent_turn_id ?? this.last ?? "root";
      this.turns.set(id, { parent: parent === "root" ? null : parent, input: data.input, files: data.attachments ?? [], seq, before: this.last });
      this.last = id;
    } else if (data.status === "cancelled" && data.iterations === 0 && this.turns.get(id)?.seq === seq - 1) {
      this.last = this.turns.get(id).before; // it was cancelled while it waited
    }
  }

  // Gives the questions of the history, which do not tell it, the ids of their turns: from the last one on.
  name(tip, head, open) {
    const isOfHistory = (each) => each.matches(".question:not(.pending, .refused)") && !each.dataset.turn;
    const questions = [...this.list.children].filter(isOfHistory);
    for (let turn = tip; turn && questions.length; turn = this.turns.get(turn)?.parent) {
      const known = this.turns.get(turn);
      if (!known || turn === open || known.seq > head || !questions.at(-1).said.endsWith(known.input)) continue;
      questions.pop().dataset.turn = turn;
    }
  }

  // Whether a turn that begins comes after another one than the last on the screen.
  isElsewhere({ data: { parent_turn_id: parent } }) {
    const shown = [...this.list.querySelectorAll(".question:not(.pending, .refused)")].at(-1);
    return parent !== undefined && parent !== (shown ? shown.dataset.turn : "root");
  }

  draw() {
    for (const each of this.list.querySelectorAll(".branching")) each.remove();
    if (!this.isFree()) return;
    for (const question of this.list.querySelectorAll(".question[data-turn]")) {
      const id = question.dataset.turn;
      if (this.turns.has(id)) question.after(this.controls(question, id, this.turns.get(id)));
    }
  }

  controls(question, id, turn) {
    const note = make("small", "why");
    const act = (label, work) => {
      const button = make("button", "small", label);
      button.type = "button";
      button.addEventListener("click", () => this.run(note, work));
      return button;
    };
    const anew = act(words.askAnew, () => this.post(`turns/${id}/regenerate`, {}));
    const change = make("button", "small", words.changeQuestion);
    change.type = "button";
    change.addEventListener("click", () => this.edit(question, bar, turn));
    const bar = make("div", "branching", ...this.switcher(turn.parent, act), anew, change, note);
    return bar;
  }

  // ‹ 2/3 ›, where others follow the same turn.
  switcher(parent, act) {
    const forks = this.rows.filter((row) => row.branch > 0 && (row.fork_turn_id ?? null) === parent);
    if (!forks.length) return [];
    const all = [forks[0].parent ?? 0, ...forks.map(({ branch }) => branch)];
    const above = new Set();
    for (let branch = this.active; branch !== undefined; branch = this.rows[branch]?.parent) above.add(branch);
    const here = Math.max(0, all.findLastIndex((branch) => above.has(branch)));
    const to = (index, sign, label) => {
      const button = act(sign, () => request("POST", `/api/sessions/${this.current()}/branches/${all[index]}/activate`));
      button.setAttribute("aria-label", label);
      button.disabled = all[index] === undefined;
      return button;
    };
    const place = make("span", "place", fill(words.variant, { number: here + 1, count: all.length }));
    return [to(here - 1, "‹", words.variantBefore), place, to(here + 1, "›", words.variantAfter)];
  }

  edit(question, bar, { parent, input, files }) {
    const text = make("textarea");
    text.value = input;
    text.setAttribute("aria-label", words.changeQuestion);
    const note = make("small", "why");
    const send = make("button", "small", words.askChanged);
    const back = make("button", "small", words.cancel);
    back.type = "button";
    const form = make("form", "branching", text, send, back, note);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!text.value.trim()) return;
      const attachments = files.map(({ ref }) => ({ ref }));
      this.run(note, () => this.post("turns", { message: text.value, parent_turn_id: parent ?? "root", attachments }));
    });
    back.addEventListener("click", () => this.draw());
    bar.replaceWith(form);
    text.focus();
  }

  post(path, body) {
    const id = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random().toString(36).slice(2)}`;
    return persist(() => request("POST", `/api/sessions/${this.current()}/${path}`, { ...body, client_message_id: id }));
  }

  async run(note, work) {
    if (!this.isFree()) return;
    const session = this.current();
    try {
      await work();
    } catch (error) {
      note.textContent = inWords(error);
      return;
    }
    if (session === this.current()) this.onChanged(session);
  }
}
