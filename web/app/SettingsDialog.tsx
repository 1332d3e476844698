import { Dialog } from "./Dialog";
import { LANGUAGES } from "./language";
import { caller, pickModel, useModel, useModels } from "./caller";
import { DETAILS, settings, THEMES, useSettings } from "./settings";
import { app, signOut, useApp, useWords } from "./state";
import { useStore } from "./store";
import { words as table } from "./words";

const OWN_NAMES = { en: "English", "zh-Hans": "简体中文", "zh-Hant": "繁體中文" };

export function SettingsDialog() {
  return useApp((state) => state.settingsOpen) && <Choices />;
}

function Choices() {
  const words = useWords(table);
  const { theme, language, detail, model } = useSettings((value) => value);
  const models = useModels();
  const session = useApp(({ place }) => place.session);
  const chosen = useModel(session);
  const me = useStore(caller, (value) => value.me);
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
      {me?.has_key && (
        <div className="account">
          <span>{words.signedIn(me.user_id)}{me.is_admin && <small> {words.admin}</small>}</span>
          <button type="button" className="small" onClick={signOut}>{words.signOut}</button>
        </div>
      )}
    </Dialog>
  );
}
