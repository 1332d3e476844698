import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { followAddress } from "./state";
import { App } from "./App";
import { readCaller } from "./caller";
import { readHealth } from "./health";
import { keep, kept } from "./kept";
import { followPlace } from "./live";
import { takeRecordings } from "./inspector/drops";
import { keepSettings } from "./settings";
import "./theme.css";
import "./app.css";

const RELOADED = "gateway.reloaded";

// A part that is loaded later is gone where the page was built anew meanwhile: the page is loaded anew, once.
addEventListener("vite:preloadError", (event) => {
  if (kept(RELOADED, "tab") === import.meta.url) return;
  keep(RELOADED, import.meta.url, "tab");
  if (kept(RELOADED, "tab") === null) return; // nothing would say that it was
  event.preventDefault();
  location.reload();
});

keepSettings();
followAddress();
followPlace();
void readHealth();
void readCaller();
takeRecordings();

const root = document.getElementById("root");
if (root) createRoot(root).render(<StrictMode><App /></StrictMode>);
