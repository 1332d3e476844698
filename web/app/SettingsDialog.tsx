import { Dialog } from "./Dialog";
import { LANGUAGES } from "./language";
import { settings, THEMES, useSettings } from "./settings";
import { app, useApp, useWords } from "./state";
import { words as table } from "./words";

const OWN_NAMES = { en: "English", "zh-Hans": "简体中文", "zh-Hant": "繁體中文" };

export function SettingsDialog() {
  return useApp((state) => state.settingsOpen) && <Choices />;
}

function Choices() {
  const words = useWords(table);
  const { theme, language } = useSettings((value) => value);
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
    </Dialog>
  );
}
