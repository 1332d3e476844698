import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { followAddress } from "./state";
import { App } from "./App";
import { readHealth } from "./health";
import { followPlace } from "./live";
import { keepSettings } from "./settings";
import "./theme.css";
import "./app.css";

keepSettings();
followAddress();
followPlace();
void readHealth();

const root = document.getElementById("root");
if (root) createRoot(root).render(<StrictMode><App /></StrictMode>);
