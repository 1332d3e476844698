// The page: chats on the left, the conversation or a page in the middle, the inspector on the right.

import { PanelLeft, PanelRight, Settings as SettingsIcon, SquarePen } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";

import { useEnlarged } from "./conversation/enlarged";
import { Conversation } from "./conversation/Conversation";
import { KeyDialog } from "./KeyDialog";
import { ModelChoice } from "./ModelChoice";
import { useOnline } from "./online";
import { pageSettings } from "./page-settings";
import { preview, usePreviewed } from "./preview/previewed";
import { PAGE_COMPONENTS } from "./pages/pages";
import { Library } from "./library/Slash";
import { Region } from "./Region";
import { type RegionName, toggle, uncover, useCover, useIsBeside, useRegion } from "./regions";
import { useIsDeveloper } from "./settings";
import { SettingsDialog } from "./SettingsDialog";
import { ChatMenu } from "./sidebar/ChatMenu";
import { Commands } from "./sidebar/Commands";
import { Sidebar } from "./sidebar/Sidebar";
import { app, go, useApp, useWords } from "./state";
import { words as table } from "./frame-words";

const Inspector = lazy(() => import("./inspector/Inspector").then(({ Inspector }) => ({ default: Inspector })));
const PreviewPanel = lazy(() => import("./preview/PreviewPanel"));
const Lightbox = lazy(() => import("./conversation/Lightbox"));

export function App() {
  const words = useWords(table);
  const { session, page } = useApp((state) => state.place);
  const recording = useApp((state) => state.replay?.recording ?? null);
  const sidebar = useRegion("sidebar");
  const inspector = useRegion("inspector");
  const announcement = useApp((state) => state.announcement);
  const previewed = usePreviewed();
  const enlarged = useEnlarged();
  const isPreviewOver = !useIsBeside();
  const hasInspector = inspector.isOpen && page === null && previewed === null;
  const isCovered = sidebar.isOver || (hasInspector && inspector.isOver) || (previewed !== null && isPreviewOver);
  const Page = page === null ? null : PAGE_COMPONENTS[page];
  useEffect(() => {
    uncover(); // what was chosen in it is on the screen now
    preview(null);
  }, [session, page]);

  return (
    <div className="app">
      <a className="skip" href="#conversation" onClick={skip}>{words.skipToConversation}</a>
      {sidebar.isOpen && (
        <Side name="sidebar" label={words.chats} isOver={sidebar.isOver}>
          <Sidebar session={recording === null ? session : null} page={page} onClose={() => toggle("sidebar")} />
        </Side>
      )}
      <main id="conversation" className="middle" tabIndex={-1} inert={isCovered}>
        <Head />
        <Region key={page ?? session} name="middle">
          {Page ? <Suspense><Page /></Suspense> : <Conversation session={session} />}
        </Region>
      </main>
      {hasInspector && (
        <Side name="inspector" label={words.inspector} isOver={inspector.isOver}>
          <Suspense><Inspector session={session} onClose={() => toggle("inspector")} /></Suspense>
        </Side>
      )}
      {previewed && (
        <Region key={previewed.name} name="preview">
          <Suspense><PreviewPanel key={`${previewed.kind} ${previewed.name}`} shown={previewed} isOver={isPreviewOver} /></Suspense>
        </Region>
      )}
      {isCovered && <div className="cover" onClick={() => {
        uncover();
        preview(null);
      }} />}
      {enlarged && <Suspense><Lightbox shown={enlarged} /></Suspense>}
      <Commands />
      <Library />
      <SettingsDialog />
      <KeyDialog />
      <p className="unseen" aria-live="polite">{announcement}</p>
    </div>
  );
}

interface SideProps {
  readonly name: RegionName;
  readonly label: string;
  readonly isOver: boolean;
  readonly children: ReactNode;
}

function Side({ name, label, isOver, children }: SideProps) {
  const [element, setElement] = useState<HTMLElement | null>(null);
  useCover(isOver ? element : null);
  const Element = name === "sidebar" ? "nav" : "aside";
  return (
    <Element ref={setElement} className={name} aria-label={label} tabIndex={-1} data-over={isOver}>
      <Region name={name}>{children}</Region>
    </Element>
  );
}

function Head() {
  const words = useWords(table);
  const { session, page } = useApp((state) => state.place);
  const health = useApp((state) => state.health);
  const recording = useApp((state) => state.replay?.recording ?? null);
  const isOnline = useOnline();
  const isLost = useApp((state) => state.link?.state === "lost") || !isOnline;
  const { isOpen: sidebar, isOver } = useRegion("sidebar");
  const inspector = useRegion("inspector").isOpen;
  const isDeveloper = useIsDeveloper();
  return (
    <header className="head">
      <button type="button" className="icon" aria-expanded={sidebar} title={sidebar ? words.hideChats : words.showChats}
        aria-label={sidebar ? words.hideChats : words.showChats} onClick={() => toggle("sidebar")}><PanelLeft /></button>
      {(!sidebar || isOver) && (
        <button type="button" className="icon" title={words.newChat} aria-label={words.newChat} onClick={() => go({})}>
          <SquarePen />
        </button>
      )}
      {session === null && recording === null && page === null && <h1 className="title" dir="auto">{pageSettings.name}</h1>}
      {page !== null && <h1 className="title">{words.pages[page]}</h1>}
      {recording !== null && page === null ? <h1 className="title" dir="auto" title={recording}>{recording}</h1>
        : session !== null && page === null && <ChatMenu session={session} />}
      {health?.demo && <span className="badge" title={words.demo}>DEMO</span>}
      {page === null && <ModelChoice session={session} />}
      <span className="offline" role="status">{isLost && words.offline}</span>
      <button type="button" className="icon" title={words.settings} aria-label={words.settings}
        onClick={() => app.set({ settingsOpen: true })}><SettingsIcon /></button>
      {page === null && isDeveloper && (
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
