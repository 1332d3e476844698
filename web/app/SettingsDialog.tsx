import { lazy, Suspense, useId, useRef, useState } from "react";

import { AboutModels } from "./AboutModels";
import { Account } from "./Account";
import { useAttempt } from "./attempt";
import { exportChats, importChats, inWordsOf } from "./chat-files";
import { Dialog } from "./Dialog";
import { isForeign } from "./importing/foreign-chats";
import { LANGUAGES } from "./language";
import { saveFile } from "./downloads";
import { askToNotify, canNotify } from "./notifications";
import { words as notificationTable } from "./notification-words";
import { PersonExport } from "./PersonExport";
import { ProviderKeys } from "./ProviderKey";
import { type Chat, chats } from "./sidebar/chats";
import { everyChat } from "./sidebar/several";
import { words as severalTable } from "./sidebar/several-words";
import { ArchiveSeveral, DeleteSeveral } from "./sidebar/SeveralDialogs";
import { QuietPages } from "./QuietPages";
import { pickModel, useModel, useModels } from "./caller";
import { DETAILS, settings, THEMES, useIsDeveloper, useLanguage, useSettings } from "./settings";
import { app, useApp, useWords } from "./state";
import { isTraceAddress } from "./trace-address";
import { words as table } from "./frame-words";

const ImportDialog = lazy(() => import("./importing/ImportDialog").then(({ ImportDialog }) => ({ default: ImportDialog })));
const OWN_NAMES = { en: "English", "zh-Hans": "简体中文", "zh-Hant": "繁體中文" };

export function SettingsDialog() {
  return useApp((state) => state.settingsOpen) && <Choices />;
}

function Choices() {
  const words = useWords(table);
  const { theme, language, detail, enterSends, model } = useSettings((value) => value);
  const models = useModels();
  const session = useApp(({ place }) => place.session);
  const chosen = useModel(session);
  return (
    <Dialog title={words.settings} onClose={() => app.set({ settingsOpen: false })}>
      <fieldset className="choices">
        <legend>{words.theme}</legend>
        {THEMES.map((each) => (
          <label key={each}>
            <input type="radio" name="theme" checked={theme === each} onChange={() => settings.set({ theme: each })} />
            {words.themes[each]}
          </label>
        ))}
      </fieldset>
      <fieldset className="choices">
        <legend>{words.language}</legend>
        {[null, ...LANGUAGES].map((each) => (
          <label key={each}>
            <input type="radio" name="language" checked={language === each} onChange={() => settings.set({ language: each })} />
            {each === null ? words.asBrowser : <span lang={each}>{OWN_NAMES[each]}</span>}
          </label>
        ))}
      </fieldset>
      <fieldset className="choices">
        <legend>{words.detail}</legend>
        {DETAILS.map((each) => (
          <label key={each} className="explained">
            <input type="radio" name="detail" checked={detail === each} onChange={() => settings.set({ detail: each })} />
            <span>{words.details[each]} <small>{words.detailHints[each]}</small></span>
          </label>
        ))}
      </fieldset>
      <fieldset className="choices">
        <legend>{words.enterKey}</legend>
        {[true, false].map((each) => (
          <label key={String(each)}>
            <input type="radio" name="enter" checked={enterSends === each} onChange={() => settings.set({ enterSends: each })} />
            {each ? words.enterSends : words.enterIsNewLine}
          </label>
        ))}
      </fieldset>
      {session !== null && chosen !== undefined && (
        <label className="field">
          <span className="faint">{words.chatModel}</span>
          <select value={chosen} onChange={(event) => pickModel(session, event.target.value)}>
            {models.map((each) => <option key={each}>{each}</option>)}
          </select>
        </label>
      )}
      {models.length > 1 && (
        <label className="field">
          <span className="faint">{words.newChatModel}</span>
          <select value={model !== null && models.includes(model) ? model : models[0]} onChange={(event) => settings.set({ model: event.target.value })}>
            {models.map((each) => <option key={each}>{each}</option>)}
          </select>
        </label>
      )}
      <AboutModels />
      <ProviderKeys />
      <ChatFiles />
      <PersonExport />
      <Notifications />
      <DeveloperTools />
      <QuietPages />
      <Account />
    </Dialog>
  );
}

function Notifications() {
  const words = useWords(notificationTable);
  const isOn = useSettings(({ notify }) => notify);
  const [isRefused, setRefused] = useState(false);
  if (!canNotify()) return null;
  const change = async (wanted: boolean) => {
    const notify = wanted && await askToNotify();
    setRefused(wanted && !notify);
    settings.set({ notify });
  };
  return (
    <>
      <Switch isOn={isOn} label={words.notify} hint={words.notifyHint} onChange={(wanted) => void change(wanted)} />
      {isRefused && <small role="alert" className="trouble">{words.refused}</small>}
    </>
  );
}

// What only developers need, and how to have it.
function DeveloperTools() {
  const words = useWords(table);
  const isDeveloper = useIsDeveloper();
  return (
    <>
      <Switch isOn={isDeveloper} label={words.developer} hint={words.developerHint} onChange={(developer) => settings.set({ developer })} />
      {isDeveloper && <TraceAddress />}
    </>
  );
}

interface SwitchProps {
  readonly isOn: boolean;
  readonly label: string;
  readonly hint: string;
  readonly onChange: (isOn: boolean) => void;
}

function Switch({ isOn, label, hint, onChange }: SwitchProps) {
  const id = useId();
  return (
    <div className="choices">
      <label className="explained">
        <input type="checkbox" role="switch" checked={isOn} aria-describedby={id} onChange={({ target }) => onChange(target.checked)} />
        <span>{label} <small id={id}>{hint}</small></span>
      </label>
    </div>
  );
}

function TraceAddress() {
  const words = useWords(table);
  const saved = useSettings(({ traceAddress }) => traceAddress);
  const [text, setText] = useState(saved);
  const isBad = !isTraceAddress(text.trim());
  return (
    <label className="field">
      <span className="faint">{words.traceAddress}</span>
      <input type="text" inputMode="url" value={text} aria-invalid={isBad} aria-describedby="trace-hint" onChange={({ target }) => {
        setText(target.value);
        const wanted = target.value.trim();
        if (isTraceAddress(wanted)) settings.set({ traceAddress: wanted });
      }} />
      <small id="trace-hint" className={isBad ? "trouble" : "faint"} role={isBad ? "alert" : undefined}>{isBad ? words.badAddress : words.traceHint}</small>
    </label>
  );
}

// All chats as one file, and back.
function ChatFiles() {
  const words = useWords(table);
  const language = useLanguage();
  const choose = useRef<HTMLInputElement>(null);
  const [outcome, attempt] = useAttempt();
  const [foreign, setForeign] = useState<File | null>(null);
  const severals = useWords(severalTable);
  const [asked, setAsked] = useState<{ readonly what: "archive" | "delete"; readonly chats: readonly Chat[] } | null>(null);
  const askAll = async (what: "archive" | "delete") => {
    const every = await everyChat(what === "delete" ? { archived: "all" } : {});
    if (every.length === 0) return severals.noneThere;
    setAsked({ what, chats: every });
    return "";
  };
  const exportAll = async () => {
    const { file, leftOut } = await exportChats();
    saveFile(file, "chats.jsonl");
    return leftOut > 0 ? words.leftOut(leftOut) : words.exportedChats;
  };
  const take = async (file: File) => {
    if (await isForeign(file)) {
      setForeign(file);
      return "";
    }
    const { outcome } = await importChats(file);
    await chats.refresh();
    return inWordsOf(outcome, language);
  };
  return (
    <div className="field">
      <span className="faint">{words.yourChats}</span>
      <div className="buttons">
        <button type="button" className="small" onClick={() => void attempt(exportAll)}>{words.exportChats}</button>
        <button type="button" className="small" onClick={() => choose.current?.click()}>{words.importChats}</button>
        <input ref={choose} type="file" hidden accept=".jsonl,.ndjson,.zip,.json,application/x-ndjson" aria-label={words.importChats} onChange={({ target }) => {
          const file = target.files?.[0];
          target.value = ""; // the same file can be chosen again
          if (file) void attempt(() => take(file));
        }} />
      </div>
      <div className="buttons">
        <button type="button" className="small" onClick={() => void attempt(() => askAll("archive"))}>{severals.archiveAll}</button>
        <button type="button" className="small" onClick={() => void attempt(() => askAll("delete"))}>{severals.deleteAll}</button>
      </div>
      <small role="status" className={outcome.isFailure ? "trouble" : "faint"}>{outcome.text}</small>
      {asked?.what === "archive" && <ArchiveSeveral chats={asked.chats} onClose={() => setAsked(null)} />}
      {asked?.what === "delete" && <DeleteSeveral chats={asked.chats} onClose={() => setAsked(null)} />}
      {foreign && <Suspense><ImportDialog file={foreign} onClose={() => setForeign(null)} /></Suspense>}
    </div>
  );
}
