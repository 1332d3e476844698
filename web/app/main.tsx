import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { followAddress } from "./state";
import { App } from "./App";
import { readCaller } from "./caller";
import { readHealth } from "./health";
import { followModels, readModels } from "./known-models";
import { writeStored, readStored } from "./browser-storage";
import { write } from "./conversation/drafts";
import { prepareFormats } from "./conversation/speech";
import { followPlace } from "./live";
import { takeRecordings } from "./inspector/dropped-recordings";
import { keepInputMethodsApart } from "./input-methods";
import { keepNotifying } from "./notifications";
import { askedIn } from "./page-address";
import { keepPageOffline } from "./offline-page";
import { followOnScreenKeyboard } from "./on-screen-keyboard";
import { previewing } from "./preview/previewed";
import { keepSettings } from "./settings";
import "./theme.css";
import "./app.css";
import "./print.css";

const RELOADED = "gateway.reloaded";

// A part that is loaded later is gone where the page was built anew meanwhile: the page is loaded anew, once.
addEventListener("vite:preloadError", (event) => {
  if (readStored(RELOADED, "tab") === import.meta.url) return;
  writeStored(RELOADED, import.meta.url, "tab");
  if (readStored(RELOADED, "tab") === null) return; // nothing would say that it was
  event.preventDefault();
  location.reload();
});

keepSettings();
keepInputMethodsApart();
followOnScreenKeyboard();
const { asked, rest } = askedIn(location.search);
if (asked !== "") { // it is written and not sent: anybody can make such a link
  history.replaceState(null, "", location.pathname + rest + location.hash);
  write(null, asked);
}
followAddress(asked !== "");
followPlace();
void readHealth();
void readCaller();
void readModels();
followModels();
takeRecordings();
previewing.set({ isAvailable: true });
keepNotifying();
keepPageOffline();

const root = document.getElementById("root");
if (root) createRoot(root).render(<StrictMode><App /></StrictMode>);
prepareFormats();
