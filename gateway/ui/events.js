// The side panel: each event as it came, known or not, newest last.

import { byId, make } from "./dom.js";
import { words } from "./words.js";

const MAX_ROWS = 400; // rows; older ones are in the log

const FAMILIES = {
  turn_start: "life", iteration_start: "life", iteration_end: "life", done: "end",
  text: "said", thinking: "thought", retrieval: "found", tool_call: "tool", tool_progress: "tool", tool_result: "tool",
  memory: "kept", skill: "kept", artifact: "kept", compression: "kept",
  approval_request: "care", approval_response: "care", warning: "care", iteration_superseded: "care", error: "wrong",
};

export class EventPanel {
  constructor() {
    this.list = byId("event-list");
    this.clear();
  }

  clear() {
    this.list.replaceChildren();
    this.run = null;
    this.began = null;
    this.count = 0;
    this.scrolling = false;
    byId("event-count").textContent = "";
    byId("events-empty").hidden = false;
  }

  add(event) {
    this.keepAtEnd();
    byId("events-empty").hidden = true;
    byId("event-count").textContent = String(this.count += 1);
    if (event.type === "turn_start" || this.began === null) this.began = event.ts;
    const isPiece = event.type === "text" || event.type === "thinking";
    if (isPiece && this.run?.type === event.type && this.run.turn === event.turn_id) this.run.grow(event);
    else this.list.append(this.row(event, isPiece));
    if (!isPiece) this.run = null;
    while (this.list.children.length > MAX_ROWS) this.list.firstChild.remove();
  }

  // Measured once a frame: a replay brings thousands of events in one.
  keepAtEnd() {
    if (this.scrolling || this.list.scrollHeight - this.list.scrollTop - this.list.clientHeight >= 60) return;
    this.scrolling = true;
    requestAnimationFrame(() => {
      this.scrolling = false;
      this.list.scrollTop = this.list.scrollHeight;
    });
  }

  // Pieces that follow each other share a row; opening it shows them all as they came.
  row(event, isPiece) {
    const events = [event];
    const gist = make("span", "gist", gistOf(event));
    const seq = make("span", "seq", String(event.seq));
    const raw = make("pre");
    const details = make("details", "",
      make("summary", "", seq, make("span", `type ${FAMILIES[event.type] ?? "other"}`, event.type), gist,
        make("time", "", `${((event.ts - this.began) / 1000).toFixed(2)} s`)),
      raw);
    details.dataset.type = event.type;
    const show = () => {
      raw.textContent = details.open ? events.map((each) => JSON.stringify(each, null, 2)).join("\n") : "";
    };
    details.addEventListener("toggle", show);
    if (isPiece) {
      let text = event.data.text;
      this.run = {
        type: event.type,
        turn: event.turn_id,
        grow(next) {
          events.push(next);
          text = (text + next.data.text).slice(-160);
          seq.textContent = `${events[0].seq}–${next.seq}`;
          gist.textContent = `${events.length} ${words.pieces} · ${text}`;
          if (details.open) show();
        },
      };
    }
    return make("li", "", details);
  }
}

function gistOf({ type, iteration, data = {} }) {
  switch (type) {
    case "turn_start": return [data.dialect && `(${data.dialect})`, data.input, ...(data.attachments ?? []).map(({ name }) => name)]
      .filter(Boolean).join(" · ");
    case "text": case "thinking": return data.text;
    case "iteration_start": return [`#${iteration}`, data.attempt > 1 && `(${data.attempt})`, data.model].filter(Boolean).join(" ");
    case "iteration_end": return [data.stop_reason, data.ttft_ms !== undefined && `${data.ttft_ms} ms`].filter(Boolean).join(" · ");
    case "retrieval": return `${data.source}: ${data.query}`;
    case "tool_call": return `${data.name} ${JSON.stringify(data.arguments)}`;
    case "approval_request": return `${data.name} ${JSON.stringify(data.arguments)}`;
    case "approval_response": return [data.decision, data.by, data.scope, data.reason].filter(Boolean).join(" · ");
    case "memory": return [data.op, data.kind, data.content ?? data.memory_id].join(" · ");
    case "artifact": return `${data.ref} ${data.name ?? data.mime}: ${data.summary}`;
    case "skill": return [data.action, data.name, data.reason].filter(Boolean).join(" · ");
    case "tool_result": return `${data.name} ${data.status}: ${data.content}`;
    case "iteration_superseded": return data.reason;
    case "warning": case "error": return `${data.code}: ${data.message}`;
    case "compression": return gistOfCompression(data);
    case "done": return data.status;
    default: return JSON.stringify(data);
  }
}

function gistOfCompression({ phase, version, covers, tokens_before: before, tokens_after: after, reason }) {
  return [phase, version && `v${version}`, covers && `${covers.first}–${covers.last}`, after && `${before} → ${after}`, reason]
    .filter(Boolean).join(" · ");
}
