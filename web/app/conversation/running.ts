// The turn that runs or waits in the session on the screen.

import { openTurn } from "@chat-gateway/client";

import { app, useApp } from "../state";

export const openTurnId = (): string | undefined => openTurn(app.get().conversation)?.id;
export const useOpenTurnId = (): string | undefined => useApp(({ conversation }) => openTurn(conversation)?.id);
