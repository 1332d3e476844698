// The title of the session on the screen, and what can be done with it.

export interface ChatMenuProps {
  readonly session: string;
}

export function ChatMenu({ session }: ChatMenuProps) {
  return <h1 className="title" data-session={session} />;
}
