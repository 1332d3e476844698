import { emptyConversation, reduceAll } from "@chat-gateway/client";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { EventLog } from "../app/event-log";
import { languageNow, settings } from "../app/settings";
import { app, NOTHING } from "../app/state";
import "../app/theme.css";
import "../app/app.css";
import "../app/conversation/conversation.css";
import "../app/conversation/prose.css";
import "../app/print.css";
import "./reader.css";
import { readChat } from "./chat-data";
import { Reader } from "./Reader";

const chat = readChat();
settings.set({ theme: "system", language: chat.language, detail: "normal", traceAddress: "" });
document.documentElement.lang = languageNow();
app.set({
  conversation: reduceAll(emptyConversation(), chat.events), events: EventLog.of(chat.events), state: "ready",
  replay: { live: NOTHING, recording: chat.title, pictures: chat.pictures },
});
const root = document.getElementById("root");
if (root) createRoot(root).render(<StrictMode><Reader chat={chat} /></StrictMode>);
