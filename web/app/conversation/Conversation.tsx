// The conversation and the composer. `session` null: a new chat, whose session is made with its first message.

import { useApp } from "../state";

export interface ConversationProps {
  readonly session: string | null;
}

export function Conversation({ session }: ConversationProps) {
  const turns = useApp((state) => state.conversation.path.length);
  return <section className="conversation" data-session={session} data-turns={turns} />;
}
