// The limits of turns: those that are set here, and those of the settings.

import type { api } from "@chat-gateway/client";
import { useEffect, useState } from "react";

import { client, useWords } from "../../state";
import { useTime } from "../locale-formats";
import { usePageStatus } from "../page-status";
import { StatusLine } from "../StatusLine";
import { words as table } from "./admin-words";

export function LimitRules() {
  const words = useWords(table);
  const time = useTime();
  const { status, attempt } = usePageStatus();
  const [known, setKnown] = useState<api.LimitRules | null>(null);
  const [text, setText] = useState("");
  const take = (found: api.LimitRules) => {
    setKnown(found);
    setText(found.added.map(({ rule }) => rule).join("\n"));
  };
  useEffect(() => void attempt(async () => {
    take(await client.limitRules());
    return undefined;
  }), [attempt]);
  const save = () => attempt(async () => {
    take(await client.setLimitRules(text.split("\n").map((line) => line.trim()).filter((line) => line !== "")));
    return words.saved;
  });
  return (
    <>
      <p className="faint">{words.limitsHint}</p>
      <form className="page-form" onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}>
        <label>{words.rules}
          <textarea className="code" rows={6} dir="ltr" spellCheck={false} placeholder={words.limitsExample} value={text} disabled={known === null} onChange={({ target }) => setText(target.value)} />
        </label>
        <div className="buttons"><button type="submit" className="primary" disabled={known === null}>{words.save}</button></div>
      </form>
      <StatusLine status={status} />
      {known !== null && known.added.length > 0 && (
        <ul>{known.added.map((each) => <li key={each.rule}><code>{each.rule}</code> <small dir="auto">{words.changedBy(each.changed_by, time(each.changed_at))}</small></li>)}</ul>
      )}
      <h2>{words.ofSettings}</h2>
      {known?.of_settings.length === 0 ? <p className="empty">{words.noRules}</p> : <ul>{known?.of_settings.map((rule) => <li key={rule}><code>{rule}</code></li>)}</ul>}
    </>
  );
}
