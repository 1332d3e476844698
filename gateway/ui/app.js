// The page: one session, followed by its cursor. Whatever is shown of a turn came out of the session's event
// stream, also of a turn started here: the first connection is merely the first resume.

import { Refused, follow, keptIn, lastTurn, mayHelp, onKeyNeeded, persist, request } from "./api.js";
import { markGone } from "./artifacts.js";
import { Branches } from "./branches.js";
import { Chat } from "./chat.js";
import { Chats } from "./chats.js";
import { Composer } from "./composer.js";
import { chainOf } from "./compressed.js";
import { byId, make } from "./dom.js";
import { EventPanel } from "./events.js";
import { Kept } from "./kept.js";
import { listenToMenu } from "./menus.js";
import { Memories } from "./memories.js";
import { spokenOf } from "./memory_cards.js";
import { Replay } from "./replay.js";
import { SessionMenu } from "./session_menu.js";
import { Skills } from "./skills.js";
import { wereSent } from "./uploads.js";
import { fill, inWords, translatePage, words } from "./words.js";

const REMEMBERED = "gateway.session";

const input = byId("input");
const scroll = byId("scroll");
const panel = new EventPanel();
const chat = new Chat({ onRetry: send });
const composer = new Composer({ onSend: send, isFree: () => openTurn === null, onFull: () => kept.open() });
const kept = new Kept({ onGone: (ref) => composer.gone(ref) });

const current = () => session;
const replay = new Replay(panel, { current, onStopped: showLastTurn });

const branches = new Branches({ list: chat.list, current, isFree: () => openTurn === null, onChanged: openSession });

let session = null; // id of the session on the screen
let following = null; // AbortController of its stream
let head = 0; // seq of the last event of the session that was seen
let openTurn = null; // id of the turn in flight, "" while it is being asked for
let drawn = Promise.resolve(); // settled when the session's history is on the screen
let drawnFor = null; // id of the turn that the history on the screen comes before
let isDrawn = true; // the history is on the screen, and the last turn in the panel

// --- the session -----------------------------------------------------------------------------------------------

async function openSession(id) {
  following?.abort();
  const mine = following = new AbortController();
  session = id;
  composer.show(id);
  head = 0;
  remember(id);
  chat.clear();
  branches.clear();
  replay.stop();
  panel.clear();
  isDrawn = id === null;
  setOpenTurn(null);
  byId("link").textContent = "";
  byId("welcome").hidden = id !== null;
  drawn = id === null ? Promise.resolve() : drawHistory(id, mine);
  if (id === null) return;
  try {
    await drawn;
    if (!mine.signal.aborted) await followSession(head, mine);
  } catch (error) {
    if (mine.signal.aborted) return;
    composer.rename(null);
    await openSession(null);
    byId("link").textContent = error.status === 404 ? words.gone : inWords(error);
  }
}

// What the session holds so far; nothing more once `signal` is aborted.
async function drawHistory(id, { signal }) {
  const snapshot = await untilReached(() => request("GET", `/api/sessions/${id}/snapshot`), signal);
  if (signal.aborted) return;
  head = snapshot.as_of_seq;
  const [versions, aside] = await Promise.all([versionsOf(id, snapshot.messages), keptOf(id, snapshot.messages)]);
  if (signal.aborted) return;
  chat.addHistory(snapshot.messages, id, versions, aside);
  byId("welcome").hidden = snapshot.messages.length > 0 || Boolean(snapshot.open_turn) || openTurn !== null;
  drawnFor = snapshot.open_turn?.turn_id ?? null;
  setOpenTurn(drawnFor ?? openTurn); // a message may wait already
  await branches.load(id, head, drawnFor).catch(() => {}); // the chat is there without them
  if (signal.aborted) return;
  if (!snapshot.open_turn) {
    const events = await showLastTurn();
    if (signal.aborted) return;
    chat.finishHistory(events.findLast(({ type }) => type === "done"));
  }
  isDrawn = true;
  allowReplay();
  requestAnimationFrame(() => scroll.scrollTo(0, scroll.scrollHeight));
}

// The versions behind the summary with which the messages begin; none when they begin otherwise.
async function versionsOf(id, [first]) {
  if (!first?.content[0]?.text?.startsWith("<conversation_summary>")) return [];
  return chainOf(await request("GET", `/api/sessions/${id}/compressions`));
}

// What was kept aside, where the messages, or those behind their summary, may tell of it.
function keptOf(id, messages) {
  const tells = messages[0]?.content[0]?.text?.startsWith("<conversation_summary>") || /ART-|kept aside: /.test(JSON.stringify(messages));
  return tells ? keptIn(id) : { ofCalls: new Map(), notKept: new Map(), files: new Map() };
}

// The events of a turn that is over, in a panel that would be empty else. Resolves to them.
async function showLastTurn() {
  const [here, until] = [following, head];
  panel.clear();
  if (!until) return [];
  const events = await lastTurn(session, until).catch(() => []); // the chat is there without them
  if (here !== following || until !== head || replay.running) return events; // something newer is shown
  panel.clear();
  for (const event of events) panel.add(event);
  return events;
}

async function untilReached(attempt, signal) {
  for (;;) {
    try {
      return await persist(attempt);
    } catch (error) {
      if (signal.aborted || error instanceof Refused && error.status < 500) throw error;
      showLink(false);
    }
  }
}

function followSession(cursor, { signal }) {
  return follow(session, cursor, { onEvent: receive, onLink: showLink, signal });
}

function receive(event) {
  // Somebody asked otherwise, elsewhere: what is on the screen is not what comes before it.
  if (event.type === "turn_start" && event.turn_id !== drawnFor && branches.isElsewhere(event)) {
    openSession(session);
    return;
  }
  const stick = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
  head = event.seq;
  chat.apply(event);
  if (event.type === "turn_start" || event.type === "done") branches.take(event);
  if (replay.running) {
    replay.stop(); // what happens now comes first
    panel.clear();
  }
  panel.add(event);
  if (event.type === "turn_start") {
    replay.tell("");
    setOpenTurn(event.turn_id);
  }
  if (event.type === "approval_request") byId("announcer").textContent = fill(words.needsApproval, { name: event.data.name });
  if (event.type === "memory") byId("announcer").textContent = spokenOf(event.data);
  if (event.type === "done" && (event.turn_id === openTurn || openTurn === null)) {
    setOpenTurn(null);
    byId("announcer").textContent = event.data.status === "completed" ? words.finished : words[event.data.status] ?? "";
  }
  if (stick) requestAnimationFrame(() => scroll.scrollTo(0, scroll.scrollHeight));
}

function remember(id) {
  if (id) localStorage.setItem(REMEMBERED, id);
  else localStorage.removeItem(REMEMBERED);
  history.replaceState(null, "", id ? `#s=${id}` : location.pathname + location.search);
}

function remembered() {
  const inAddress = new URLSearchParams(location.hash.slice(1)).get("s");
  const id = inAddress ?? localStorage.getItem(REMEMBERED);
  return /^[\w-]{1,64}$/.test(id ?? "") ? id : null;
}

// --- sending and stopping --------------------------------------------------------------------------------------

async function send(text, files = []) {
  if (openTurn !== null || !text.trim()) return; // a second click finds the first one's turn
  await post(text, files, crypto.randomUUID?.() ?? `${Date.now()}-${Math.random().toString(36).slice(2)}`);
}

async function post(text, files, clientMessageId) {
  setOpenTurn("");
  byId("welcome").hidden = true;
  chat.addQuestion(text, clientMessageId, files);
  scroll.scrollTo(0, scroll.scrollHeight);
  let here = session;
  try {
    if (session === null) await createSession();
    here = session;
    await drawn; // what is asked now comes after it
    if (here !== session) return composer.bringBack(here, text, files);
    const body = { message: text, client_message_id: clientMessageId, attachments: files.map(({ ref }) => ({ ref })) };
    const turn = await persist(() => request("POST", `/api/sessions/${here}/turns`, body));
    wereSent(files);
    if (here !== session) return;
    chat.settle(clientMessageId, turn.turn_id);
    if (openTurn === "") setOpenTurn(chat.isOver(turn.turn_id) ? null : turn.turn_id);
  } catch (error) {
    if (here !== session) return composer.bringBack(here, text, files);
    setOpenTurn(null);
    refused(error, text, files, clientMessageId);
  }
}

// What cannot be sent as it is goes back to where it was written.
function refused(error, text, files, clientMessageId) {
  const lost = files.find(({ ref }) => ref === error.details?.ref || error.message.includes(ref));
  if (lost && error.code === "artifact_not_found") markGone(lost.ref);
  if (!lost && (error.code === "turn_in_progress" || mayHelp(error))) {
    const reason = error.code === "turn_in_progress" ? words.busy : error instanceof Refused ? error.message : words.offline;
    return chat.refuse(clientMessageId, reason, words.again, () => post(text, files, clientMessageId));
  }
  const reason = lost ? fill(words.aboutFile, { name: lost.name ?? lost.ref, reason: inWords(error) }) : error.message;
  return chat.refuse(clientMessageId, reason, words.edit, () =>
    composer.restore(text, files, new Map(lost ? [[lost.ref, error]] : [])));
}

async function createSession() {
  const { id } = await request("POST", "/api/sessions", {});
  following?.abort();
  following = new AbortController();
  session = id;
  composer.rename(id);
  remember(id);
  followSession(0, following).catch((error) => {
    byId("link").textContent = error.message;
  });
}

async function stop() {
  if (!openTurn) return;
  byId("stop").disabled = true;
  byId("stop").textContent = words.stopping;
  const turn = openTurn;
  try {
    await persist(() => request("POST", `/api/sessions/${session}/turns/${turn}/cancel`));
  } catch {
    setOpenTurn(openTurn); // Stop can be pressed again
  }
}

function setOpenTurn(id) {
  openTurn = id;
  byId("send").hidden = id !== null;
  byId("stop").hidden = id === null;
  byId("stop").disabled = !id;
  byId("stop").textContent = words.stop;
  branches.draw();
  allowReplay();
}

function allowReplay() {
  replay.allow(isDrawn && session !== null && openTurn === null && head > 0);
}

// --- the rest of the page --------------------------------------------------------------------------------------

function showLink(connected) {
  byId("link").textContent = connected ? "" : words.offline;
}

async function showHealth() {
  const health = await request("GET", "/healthz").catch(() => ({}));
  if (health.demo && byId("badge").hidden) words.demoExamples.forEach(offer);
  byId("badge").hidden = !health.demo;
  byId("badge").title = words.demo;
  byId("model").textContent = health.demo ? "" : health.model ?? "";
}

function askForKey(wasWrong) {
  const dialog = byId("key-dialog");
  if (wasWrong) dialog.querySelector("p").textContent = words.keyWrong;
  byId("key").value = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", function closed() {
      const key = byId("key").value.trim();
      if (!key) return dialog.showModal(); // there is nothing to see without one
      dialog.removeEventListener("close", closed);
      return resolve(key);
    });
  });
}

function toggleEvents() {
  const hidden = document.body.classList.toggle("without-events");
  byId("toggle-events").setAttribute("aria-expanded", String(!hidden));
}

function listen() {
  byId("stop").addEventListener("click", stop);
  byId("new-chat").addEventListener("click", () => {
    openSession(null);
    input.focus();
  });
  byId("toggle-events").addEventListener("click", toggleEvents);
  byId("close-events").addEventListener("click", toggleEvents);
  addEventListener("hashchange", () => remembered() !== session && openSession(remembered()));
  for (const menu of document.querySelectorAll(".menu")) listenToMenu(menu);
}

function offer(question) {
  const example = make("button", "example", question);
  example.type = "button";
  example.addEventListener("click", () => send(question));
  byId("examples").append(example);
}

function begin() {
  translatePage();
  words.examples.forEach(offer);
  if (matchMedia("(max-width: 900px)").matches) toggleEvents();
  onKeyNeeded(askForKey);
  listen();
  new Chats({ current, onChoose: openSession });
  new SessionMenu({ current, onOpen: openSession });
  new Memories();
  new Skills();
  showHealth();
  openSession(remembered());
  input.focus();
}

begin();
