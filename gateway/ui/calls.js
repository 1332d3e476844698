// A tool call in an answer: what was asked for, a person's say in it, and what came of it.

import { ApprovalCard, decisionLine, shown } from "./approvals.js";
import { artifactCard } from "./artifacts.js";
import { make } from "./dom.js";
import { fill, words } from "./words.js";

export class Call {
  constructor(name, given, runsOn) {
    this.state = make("i", "state", "…");
    this.gist = make("span", "", gistOf(given));
    this.given = make("pre", "", shown(given));
    this.result = make("pre", "result");
    this.step = make("details", "step tool running",
      make("summary", "", make("b", "", name), " ", this.gist, " ", this.state), this.given, this.result);
    this.root = make("div", "call", this.step);
    this.card = null;
    if (runsOn === "client") this.waitForClient(name);
  }

  waitForClient(name) {
    const note = make("p", "note client", fill(words.runsOnClient, { name }));
    this.card = { close: () => note.remove() };
    this.root.append(note);
  }

  progress({ message = "", progress }) {
    this.state.textContent = `${progress === undefined ? "…" : `${Math.round(progress * 100)} %`} ${message}`;
  }

  ask(path, data) {
    this.card?.close();
    this.card = new ApprovalCard(path, data);
    this.root.append(this.card.root);
  }

  decided(data) {
    this.close();
    this.root.append(decisionLine(data));
    if (data.arguments === undefined) return;
    this.gist.textContent = gistOf(data.arguments);
    this.given.textContent = shown(data.arguments);
  }

  skill({ name, action, reason = "", path }) {
    const told = fill(action === "read" ? words.skillRead : words.skillRefused, { name: path ? `${name}/${path}` : name, reason });
    this.root.append(make("p", `skill ${action}`, told));
  }

  keep(artifact) {
    this.root.append(artifactCard(artifact));
  }

  notKept({ message }) {
    this.root.append(make("p", "note warning", `${words.resultNotKept} `, make("small", "", message)));
  }

  finish({ status, content, steps = [] }) {
    this.close();
    this.step.classList.remove("running");
    this.step.classList.toggle("trouble", status !== "ok");
    this.state.textContent = words.status[status] ?? status;
    this.result.textContent = content;
    if (steps.length) this.step.append(stepsOf(steps));
  }

  close() {
    this.card?.close();
    this.card = null;
  }
}

function gistOf(given) {
  return Object.values(given).map((value) => typeof value === "string" ? value : JSON.stringify(value)).join(", ");
}

function stepsOf(steps) {
  const rows = steps.map(({ step_name: name, duration_ms: duration, error }) =>
    make("li", error ? "trouble" : "", name, " ", make("span", "time", `${duration} ms`), error ? ` ${error}` : null));
  return make("details", "steps", make("summary", "", fill(words.steps, { count: steps.length })), make("ol", "", ...rows));
}
