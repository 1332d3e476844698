// A person's say in a tool call: the card that asks for it, and the line that tells what was decided.

import { Refused, isExact, persist, request } from "./api.js";
import { make } from "./dom.js";
import { fill, inWords, language, words } from "./words.js";

const SCOPES = ["once", "session", "always"];
const UNITS = [["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]];

let cards = 0; // made so far: labels need ids

// Invisible letters, and those that turn the direction of reading, are escaped: what is approved is what is seen.
export function shown(value) {
  return JSON.stringify(value, null, 2).replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Zl}\p{Zp}\u007f-\u009f]/gu,
    (letter) => [...Array(letter.length).keys()].map((at) => `\\u${letter.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""));
}

export class ApprovalCard {
  // `path` is where the decision goes; the rest is the data of an approval_request.
  constructor(path, { name, arguments: given, reason, expires_at: until }) {
    const id = `approval-${cards += 1}`;
    this.path = path;
    this.until = until;
    this.given = make("pre", "", shown(given));
    this.edited = field("textarea", `${id}-arguments`, { spellcheck: false, value: shown(given) });
    this.edited.rows = Math.min(14, this.edited.value.split("\n").length + 1);
    this.scope = field("select", `${id}-scope`);
    this.scope.append(...SCOPES.map((scope) => new Option(words.scopes[scope], scope)));
    this.reason = field("input", `${id}-reason`, { maxLength: 2000, autocomplete: "off" });
    this.time = make("span", "time");
    this.trouble = make("p", "why");
    this.trouble.setAttribute("role", "alert");
    this.editor = make("div", "", label(this.edited, words.argumentsAsJson), this.edited);
    this.editor.hidden = true;
    this.edit = press(words.editArguments, "small", () => this.startEditing());
    this.edit.disabled = isRounded(given); // the rounded number would be sent
    this.approve = press(words.approve, "go", () => this.decide("approve"));
    this.deny = press(words.deny, "go stop", () => this.decide("deny"));
    const title = make("h3", "", fill(words.needsApproval, { name }));
    title.id = `${id}-title`;
    this.root = make("section", "approval",
      make("div", "approval-head", title, this.time),
      reason ? make("p", "", reasonInWords(reason)) : null,
      this.given, this.edit.disabled ? make("p", "why", words.rounded) : null, this.editor, this.edit,
      make("div", "choice", this.approve, label(this.scope, words.howLong), this.scope),
      make("div", "choice", this.deny, label(this.reason, words.whyNot), this.reason),
      this.trouble);
    this.root.setAttribute("aria-labelledby", title.id);
    this.tellTime();
    this.clock = setInterval(() => this.tellTime(), 1000);
  }

  close() {
    clearInterval(this.clock);
    this.root.remove();
  }

  startEditing() {
    this.given.hidden = this.edit.hidden = true;
    this.editor.hidden = false;
    this.scope.value = "once"; // what was edited is approved as it is, and nothing after it
    this.scope.disabled = true;
    this.edited.focus();
  }

  async decide(decision) {
    const edited = decision === "approve" && !this.editor.hidden;
    if (edited && !this.isSound()) return;
    const body = decision === "deny" ? { decision, reason: this.reason.value.trim() || undefined }
      : edited ? `{"decision":"approve","arguments":${this.edited.value}}` // as it was written, digit by digit
        : { decision, scope: this.scope.value };
    this.allow(false);
    this.trouble.textContent = "";
    try {
      await persist(() => request("POST", this.path, body)); // the card closes when the stream tells of it
    } catch (error) {
      this.allow(true);
      const tooLate = error instanceof Refused && error.status === 409;
      this.trouble.textContent = tooLate ? words.decidedAlready : inWords(error);
    }
  }

  // Whether the edited arguments are a JSON object; if not, it is told.
  isSound() {
    this.edited.removeAttribute("aria-invalid");
    let problem = words.notAnObject;
    try {
      const edited = JSON.parse(this.edited.value);
      if (edited !== null && typeof edited === "object" && !Array.isArray(edited)) return true;
    } catch (error) {
      problem = fill(words.notJson, { reason: error.message });
    }
    this.edited.setAttribute("aria-invalid", "true");
    this.trouble.textContent = problem;
    this.edited.focus();
    return false;
  }

  allow(isAllowed) {
    this.approve.disabled = this.deny.disabled = !isAllowed;
  }

  tellTime() {
    if (this.until === undefined) return;
    const seconds = Math.max(0, Math.ceil((this.until - Date.now()) / 1000));
    const [unit, length] = UNITS.find(([, each]) => seconds >= 2 * each) ?? UNITS.at(-1);
    const time = new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(Math.floor(seconds / length));
    this.time.textContent = seconds ? fill(words.timeLeft, { time }) : words.timeIsUp;
  }
}

// What was decided, by whom: the data of an approval_response.
export function decisionLine({ decision, by, scope, reason, arguments: edited }) {
  const who = words.deciders[by] ?? fill(decision === "approved" ? words.approvedBy : words.deniedBy, { by });
  const facts = [who, words.scopesOf[scope], edited && words.withEdits].filter(Boolean).join(words.comma);
  const told = reason && !words.deciders[by] ? `${facts}: ${reason}` : facts;
  return make("p", `decision ${decision}`, told);
}

function isRounded(value) {
  if (isExact) return false;
  if (value !== null && typeof value === "object") return Object.values(value).some(isRounded);
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

// The server's own two reasons in the reader's language; others as they are.
function reasonInWords(reason) {
  const rule = reason.match(/^The rule (.+) of this server's tool policy holds for it\.$/)?.[1];
  if (rule) return fill(words.askedByRule, { rule });
  return reason === "It has effects." ? words.hasEffects : reason;
}

function press(name, className, act) {
  const element = make("button", className, name);
  element.type = "button";
  element.addEventListener("click", act);
  return element;
}

function field(tag, id, properties = {}) {
  return Object.assign(make(tag), { id, ...properties });
}

function label(element, text) {
  return Object.assign(make("label", "", text), { htmlFor: element.id });
}
