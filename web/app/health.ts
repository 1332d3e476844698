// Which model answers, and whether it is the demo model.

import { app, client } from "./state";

export async function readHealth(): Promise<void> {
  try {
    const { demo, model } = await client.connection.ask<{ demo?: boolean; model?: string }>("GET", "/healthz");
    app.set({ health: { demo: demo === true, model: model ?? "" } });
  } catch {
    // The page works without: it only tells.
  }
}
