// What the memory did in a conversation: what was recalled and why, what was remembered, and the way back.

import { request } from "./api.js";
import { make } from "./dom.js";
import { fill, inWords, words } from "./words.js";

// The data of a retrieval event of memories.
export function recalled({ query, results, mode, notes = [], omitted, omissions = [], degraded }) {
  const standing = mode === "snapshot";
  const count = `${results.length}${standing && omitted ? "+" : ""}`; // of many, an event tells the first
  const head = make("summary", "", make("b", "", words.memory), " ",
    make("i", "", fill(standing ? words.standing : words.lookedUp, { count })));
  if (!standing) head.title = query;
  const why = [words.recallModes[mode], ...notes].filter(Boolean).join(" · ");
  const left = [omitted && fill(words.notTold, { count: omitted }), ...reasonsOf(omissions)].filter(Boolean).join(" · ");
  const lines = [why, left, degraded && words.degraded].filter(Boolean).map((line) => make("p", "", line));
  return make("details", "step found recalled", head, make("ul", "", ...results.map(hit)), ...lines);
}

function hit({ snippet, type, importance, told, lexical_rank: byWords, vector_rank: byMeaning, freshness }) {
  const facts = [
    words.memoryTypes[type] ?? type, importance && fill(words.importance, { importance }), words.told[told],
    byWords && fill(words.byWords, { rank: byWords }), byMeaning && fill(words.byMeaning, { rank: byMeaning }),
    freshness !== undefined && fill(words.fresh, { share: Math.round(freshness * 100) }),
  ];
  return make("li", "", snippet, " ", make("small", "", facts.filter(Boolean).join(" · ")));
}

function reasonsOf(omissions) {
  const counted = (reason) => omissions.filter((each) => each.reason === reason).length;
  return [[counted("budget"), words.tooMuch], [counted("similar"), words.tooAlike], [counted("too_long"), words.tooLong]]
    .filter(([count]) => count).map(([count, text]) => fill(text, { count }));
}

// The data of a memory event in one sentence.
export function spokenOf({ op, content, quarantined }) {
  const text = quarantined ? words.awaitsConfirmation : words.memoryOps[op] ?? op;
  return fill(text, { content: content === undefined ? "" : `“${content}”` });
}

// The data of a memory event. What was remembered can be taken back, or confirmed where that is needed.
export function memoryCard(data) {
  const { op, memory_id: id, version, reason, quarantined } = data;
  const said = make("span", "", spokenOf(data));
  const trouble = make("span", "why");
  trouble.setAttribute("role", "alert");
  const root = make("p", `note memory ${op}`, said, " ", trouble);
  root.title = reason;
  if (op !== "remembered") return root;
  const buttons = make("span", "choices");
  const act = (label, method, path, told) => {
    const press = make("button", "small", label);
    press.type = "button";
    press.addEventListener("click", async () => {
      press.disabled = true;
      trouble.textContent = "";
      try {
        await request(method, path, undefined, { "If-Match": `"${version}"` });
        said.textContent = told;
        buttons.remove();
      } catch (error) {
        press.disabled = false;
        trouble.textContent = inWords(error);
      }
    });
    return press;
  };
  const path = `/api/memory/${encodeURIComponent(id)}`;
  if (quarantined) buttons.append(act(words.confirm, "POST", `${path}/confirm`, spokenOf({ ...data, op: "confirmed", quarantined: false })), " ");
  buttons.append(act(words.undo, "DELETE", path, words.undone));
  said.after(" ", buttons);
  return root;
}
