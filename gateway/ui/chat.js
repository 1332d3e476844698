// The conversation: a fold of the session's events into elements.

import { attachedFiles } from "./artifacts.js";
import { Call } from "./calls.js";
import { CompressionCard, earlierMessages } from "./compressed.js";
import { button, byId, make } from "./dom.js";
import { renderMarkdown } from "./markdown.js";
import { memoryCard, recalled } from "./memory_cards.js";
import { counted, words } from "./words.js";

export class Chat {
  // `onRetry(text, files)` sends a question again.
  constructor({ onRetry }) {
    this.list = byId("messages");
    this.onRetry = onRetry;
    this.clear();
  }

  clear() {
    for (const { calls } of this.turns?.values() ?? []) for (const call of calls.values()) call.close();
    this.list.replaceChildren();
    this.turns = new Map();
    this.sent = new Map();
    this.compression = null;
    this.latest = null; // the last answer of the history
  }

  // A question that is on its way, shown before the server has said a word.
  addQuestion(text, clientMessageId, files) {
    const bubble = question(text, files);
    bubble.classList.add("pending");
    this.list.append(bubble);
    this.sent.set(clientMessageId, bubble);
    return bubble;
  }

  // With a button that does something about it, and takes the question off the page.
  refuse(clientMessageId, reason, label, act) {
    const bubble = this.sent.get(clientMessageId);
    bubble.classList.replace("pending", "refused");
    bubble.append(make("p", "why", `${words.notSent} ${reason} `, button(label, () => {
      bubble.remove();
      act();
    })));
  }

  // A question that was sent again may belong to a turn that is on the screen already.
  settle(clientMessageId, turnId) {
    const bubble = this.sent.get(clientMessageId);
    if (this.turns.has(turnId) && bubble?.classList.contains("pending")) bubble.remove();
  }

  isOver(turnId) {
    return this.turns.get(turnId)?.over === true;
  }

  // Messages as the snapshot has them. `versions` are those of the compressed history that is in force, the
  // oldest first: the first block is their summary then, and not what a user said. `kept` is what was kept aside.
  addHistory([first, ...later], session, versions, kept) {
    const draw = (parent, messages) => addMessages(parent, messages, kept);
    if (!first) return;
    const [summary, ...rest] = first.content;
    const isCompressed = versions.length && summary?.text?.startsWith("<conversation_summary>");
    if (isCompressed) this.list.append(earlierMessages(summary.text, session, versions, draw));
    const begin = isCompressed ? rest : first.content;
    this.latest = draw(this.list, [...(begin.length ? [{ ...first, content: begin }] : []), ...later]);
    this.list.append(...[...this.sent.values()].filter((bubble) => bubble.isConnected)); // asked while this was fetched
  }

  // How the history's last turn ended, which its messages do not say; `done` may be of another branch, or missing.
  finishHistory(done) {
    const last = [...this.list.querySelectorAll(".question[data-turn]")].at(-1);
    if (done && last?.dataset.turn === done.turn_id) this.latest?.finish(done.data);
  }

  // `event` of the log. Types that are not known here change nothing.
  apply(event) {
    const { type, turn_id: turnId, iteration = 0, tool_call_id: callId, data } = event;
    if (type === "turn_start") return this.startTurn(turnId, data);
    const answer = this.turns.get(turnId);
    if (type === "compression") return this.compress(answer?.root ?? this.list, data);
    if (type === "memory") return (answer?.calls.get(callId)?.root ?? answer?.root ?? this.list).append(memoryCard(data));
    if (!answer) return undefined;
    switch (type) {
      case "iteration_start": return answer.startIteration(iteration);
      case "thinking": return answer.think(iteration, data.text);
      case "text": return answer.say(iteration, data.text);
      case "retrieval": return answer.retrieval(iteration, data);
      case "tool_call": return answer.toolCall(iteration, callId, data);
      case "tool_progress": return answer.calls.get(callId)?.progress(data);
      case "tool_result": return answer.toolResult(callId, data);
      case "approval_request": return answer.ask(callId, approvalPath(event), data);
      case "approval_response": return answer.calls.get(callId)?.decided(data);
      case "artifact": return answer.calls.get(callId)?.keep(data);
      case "skill": return answer.calls.get(callId)?.skill(data);
      case "iteration_superseded": return answer.drop(iteration);
      case "warning": return answer.warn(callId, data);
      case "error": return answer.fail(data, () => this.onRetry(answer.question, answer.files));
      case "done": return answer.finish(data);
      default: return undefined;
    }
  }

  // A session has one compression at a time. By hand it may begin in one turn, or in none, and end in another.
  compress(place, data) {
    if (!this.compression || data.phase === "started") {
      this.compression = new CompressionCard();
      place.append(this.compression.root);
    }
    this.compression.tell(data);
    if (data.phase !== "started") this.compression = null;
  }

  startTurn(turnId, { input, client_message_id: clientMessageId, attachments = [] }) {
    const bubble = this.sent.get(clientMessageId) ?? question(input, attachments);
    if (bubble.isConnected) bubble.classList.remove("pending");
    else this.list.append(bubble);
    bubble.dataset.turn = turnId;
    this.turns.set(turnId, new Answer(this.list, input, attachments));
  }
}

const question = (text, files) => Object.assign(make("article", "question", text, attachedFiles(files)), { said: text });

// The gateway tells the model of files and memories in blocks of these forms, before what the user wrote.
const BESIDE = /^<(attachment|tool_output|retrieved_context)>\n[^]*\n<\/\1>$/;
const REFERENCE = /ART-[0-9a-z]+/;

// What a user wrote, and the files that came with it.
function readQuestion(texts, content, kept) {
  const beside = texts.filter((text, index) => index < texts.length - 1 && BESIDE.test(text));
  const told = beside.filter((text) => !text.startsWith("<retrieved_context>")).map((text) => text.match(REFERENCE)?.[0]);
  const archived = content.filter(({ type }) => type === "attached");
  const files = told.filter(Boolean).map((ref) => kept.files.get(ref) ?? { ref });
  return [texts.filter((text) => !beside.includes(text)).join("\n\n"), [...archived, ...files]];
}

// An answer spans all messages up to the next question. Returns the last one, null where it is still to come.
function addMessages(parent, messages, kept) {
  let answer = null;
  for (const { role, content } of messages) {
    const texts = content.filter((block) => block.type === "text").map((block) => block.text);
    const results = content.filter((block) => block.type === "tool_result");
    if (results.length) answer ??= new Answer(parent);
    for (const result of results) {
      const id = result.tool_use_id;
      for (const artifact of kept.ofCalls.get(id) ?? []) answer.calls.get(id)?.keep(artifact);
      for (const warning of kept.notKept.get(id) ?? []) answer.calls.get(id)?.notKept(warning);
      answer.toolResult(id, { status: result.is_error ? "error" : "ok", content: plainText(result.content) });
    }
    if (role === "assistant") {
      answer ??= new Answer(parent);
      answer.addBlocks(content);
    } else if (texts.length || !results.length) {
      parent.append(question(...readQuestion(texts, content, kept)));
      answer = null;
    }
  }
  return answer;
}

class Answer {
  constructor(parent, question = "", files = []) {
    this.question = question;
    this.files = files;
    this.over = false;
    this.calls = new Map();
    this.iterations = new Map();
    this.waiting = question ? make("p", "waiting", words.waiting) : null;
    this.root = make("article", "answer", this.waiting);
    parent.append(this.root);
  }

  part(iteration) {
    if (!this.iterations.has(iteration)) this.startIteration(iteration);
    return this.iterations.get(iteration);
  }

  // A new attempt of an iteration takes the place of the one before.
  startIteration(iteration) {
    this.drop(iteration);
    const part = { root: make("div", "iteration"), prose: null, thoughts: null };
    this.iterations.set(iteration, part);
    this.root.append(part.root);
    if (this.waiting) this.root.append(this.waiting);
  }

  drop(iteration) {
    this.iterations.get(iteration)?.root.remove();
    this.iterations.delete(iteration);
  }

  say(iteration, text) {
    const part = this.part(iteration);
    this.waiting?.classList.add("resting");
    if (!part.prose) {
      part.prose = { element: make("div", "prose"), text: "", drawing: false };
      part.root.append(part.prose.element);
    }
    const prose = part.prose;
    prose.text += text;
    if (prose.drawing) return;
    prose.drawing = true;
    requestAnimationFrame(() => {
      prose.drawing = false;
      renderMarkdown(prose.element, prose.text);
    });
  }

  think(iteration, text) {
    const part = this.part(iteration);
    if (!part.thoughts) {
      part.thoughts = make("p");
      part.root.append(make("details", "step thinking", make("summary", "", words.thinking), part.thoughts));
    }
    part.thoughts.append(text);
  }

  retrieval(iteration, data) {
    const { query, source, results } = data;
    if (source === "memory") return this.part(iteration).root.append(recalled(data));
    const hits = results.map((hit) => make("li", "", make("strong", "", hit.title ?? hit.source), ` ${hit.snippet}`));
    const head = make("summary", "", make("b", "", source), ` “${query}” `, make("i", "", counted("sources", results.length)));
    return this.part(iteration).root.append(make("details", "step found", head, make("ul", "", ...hits)));
  }

  toolCall(iteration, callId, { name, arguments: given, runs_on: runsOn }) {
    const call = new Call(name, given, runsOn);
    const part = this.part(iteration);
    part.root.append(call.root);
    part.prose = null; // text after a call stands below it
    this.calls.set(callId, call);
    if (runsOn) this.waiting?.classList.add("resting");
  }

  ask(callId, path, data) {
    this.calls.get(callId)?.ask(path, data);
    this.waiting?.classList.add("resting");
  }

  toolResult(callId, data) {
    const call = this.calls.get(callId);
    if (!call) return;
    call.finish(data);
    if (this.waiting) {
      this.waiting.classList.remove("resting");
      this.root.append(this.waiting);
    }
  }

  addBlocks(blocks) {
    const iteration = this.iterations.size + 1;
    this.startIteration(iteration);
    for (const block of blocks) {
      if (block.type === "text") this.say(iteration, block.text);
      if (block.type === "thinking") this.think(iteration, block.thinking);
      if (block.type === "tool_use") this.toolCall(iteration, block.id, { name: block.name, arguments: block.input });
    }
  }

  warn(callId, data) {
    const call = data.code === "artifact_not_kept" ? this.calls.get(callId) : undefined;
    if (call) call.notKept(data);
    else this.root.append(make("p", "note warning", data.message));
  }

  fail({ message, retryable }, retry) {
    const box = make("p", "note error", message);
    if (retryable) box.append(/[.!?。！？]$/.test(message) ? " " : ". ", words.mayHelp, " ", button(words.again, retry));
    this.root.append(box);
  }

  finish({ status, usage, cost, duration_ms: duration }) {
    this.over = true;
    for (const call of this.calls.values()) call.close();
    this.waiting?.remove();
    this.waiting = null;
    const facts = [];
    if (status !== "completed") facts.push(words[status] ?? status);
    facts.push(`${(duration / 1000).toFixed(1)} s`);
    if (usage) facts.push(counted("tokens", usage.input_tokens + usage.output_tokens));
    if (cost !== undefined) facts.push(`$${cost.toFixed(4)}`);
    this.root.append(make("p", `outcome ${status}`, facts.join(" · ")));
  }
}

function approvalPath({ session_id: session, turn_id: turn, tool_call_id: call }) {
  return `/api/sessions/${session}/turns/${turn}/approvals/${encodeURIComponent(call)}`;
}

function plainText(content) {
  if (typeof content === "string") return content;
  return (content ?? []).map((block) => block.text ?? "").join("\n");
}
