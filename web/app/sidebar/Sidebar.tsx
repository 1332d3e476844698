// The chats, and the ways to the other pages. `session` and `page` are what is on the screen.

import type { Page } from "../place";

export interface SidebarProps {
  readonly session: string | null;
  readonly page: Page | null;
  /** On a narrow screen, where it lies over the rest. */
  readonly onClose: () => void;
}

export function Sidebar({ session, page }: SidebarProps) {
  return <section data-session={session} data-page={page} />;
}
