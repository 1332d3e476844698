// The page: chats on the left, the conversation or a page in the middle, the inspector on the right.

import { PanelLeft, PanelRight, Settings as SettingsIcon, SquarePen } from "lucide-react";
import { lazy, Suspense } from "react";

import { Conversation } from "./conversation/Conversation";
import { KeyDialog } from "./KeyDialog";
import { PAGE_COMPONENTS } from "./pages/pages";
import { Region } from "./Region";
import { toggle, useSettings } from "./settings";
import { SettingsDialog } from "./SettingsDialog";
import { ChatMenu } from "./sidebar/ChatMenu";
import { Commands } from "./sidebar/Commands";
import { Sidebar } from "./sidebar/Sidebar";
import { app, go, useApp, useWords } from "./state";
import { words as table } from "./words";

const Inspector = lazy(() => import("./inspector/Inspector").then(({ Inspector }) => ({ default: Inspector })));

export function App() {
  const words = useWords(table);
  const { session, page } = useApp((state) => state.place);
  const sidebar = useSettings((settings) => settings.sidebar);
  const inspector = useSettings((settings) => settings.inspector);
  const announcement = useApp((state) => state.announcement);
  const hasInspector = inspector && session !== null && page === null;
  const Page = page === null ? null : PAGE_COMPONENTS[page];

  return (
    <div className="app" data-sidebar={sidebar} data-inspector={hasInspector}>
      <a className="skip" href="#conversation" onClick={skip}>{words.skipToConversation}</a>
      {sidebar && (
        <nav className="sidebar" aria-label={words.chats}>
          <Region name="sidebar"><Sidebar session={session} page={page} onClose={() => toggle("sidebar")} /></Region>
        </nav>
      )}
      <main id="conversation" className="middle" tabIndex={-1}>
        <Head />
        <Region key={page ?? session} name="middle">
          {Page ? <Suspense><Page /></Suspense> : <Conversation session={session} />}
        </Region>
      </main>
      {hasInspector && (
        <aside className="inspector" aria-label={words.inspector}>
          <Region name="inspector">
            <Suspense><Inspector session={session} onClose={() => toggle("inspector")} /></Suspense>
          </Region>
        </aside>
      )}
      <Commands />
      <SettingsDialog />
      <KeyDialog />
      <p className="unseen" aria-live="polite">{announcement}</p>
    </div>
  );
}

function Head() {
  const words = useWords(table);
  const { session, page } = useApp((state) => state.place);
  const health = useApp((state) => state.health);
  const isLost = useApp((state) => state.link?.state === "lost");
  const sidebar = useSettings((settings) => settings.sidebar);
  const inspector = useSettings((settings) => settings.inspector);
  return (
    <header className="head">
      <button type="button" className="icon" aria-expanded={sidebar} title={sidebar ? words.hideChats : words.showChats}
        aria-label={sidebar ? words.hideChats : words.showChats} onClick={() => toggle("sidebar")}><PanelLeft /></button>
      <button type="button" className="icon" title={words.newChat} aria-label={words.newChat} onClick={() => go({})}>
        <SquarePen />
      </button>
      {page !== null && <h1 className="title">{words.pages[page]}</h1>}
      {session !== null && page === null && <ChatMenu session={session} />}
      {health?.demo && <span className="badge" title={words.demo}>DEMO</span>}
      {health && !health.demo && <span className="model">{health.model}</span>}
      <span className="offline" role="status">{isLost && words.offline}</span>
      <button type="button" className="icon" title={words.settings} aria-label={words.settings}
        onClick={() => app.set({ settingsOpen: true })}><SettingsIcon /></button>
      {session !== null && page === null && (
        <button type="button" className="icon" aria-expanded={inspector}
          title={inspector ? words.hideInspector : words.showInspector}
          aria-label={inspector ? words.hideInspector : words.showInspector}
          onClick={() => toggle("inspector")}><PanelRight /></button>
      )}
    </header>
  );
}

// The address belongs to the place, not to an anchor.
function skip(event: React.MouseEvent): void {
  event.preventDefault();
  document.getElementById("conversation")?.focus();
}
