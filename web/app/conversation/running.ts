// The turn that runs or waits in the session on the screen.

import { openTurn } from "@chat-gateway/client";

import { app, type AppState, useApp } from "../state";

const REPLAY = "replay"; // nothing can be asked while one is on the screen

const found = ({ conversation, replay }: AppState): string | undefined => replay ? REPLAY : openTurn(conversation)?.id;

export const openTurnId = (): string | undefined => found(app.get());
export const useOpenTurnId = (): string | undefined => useApp(found);
