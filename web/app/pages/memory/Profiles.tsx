// The few facts that stand in every prompt: the reader's own, and those of their households, a line each.

import type { api } from "@chat-gateway/client";
import { useCallback, useEffect, useId, useState } from "react";

import { client, useWords } from "../../state";
import { codeOf } from "../problems";
import type { PageStatus } from "../page-status";
import { words as table } from "../page-words";
import { fieldsOf, textOf } from "./profile";

type Props = Pick<PageStatus, "attempt" | "report">;

export function Profiles({ attempt, report }: Props) {
  const { memory: words } = useWords(table);
  const [profiles, setProfiles] = useState<readonly api.ProfileReply[]>([]);
  const read = useCallback(() => client.profiles().then(({ profiles: found }) => setProfiles(found), () => undefined), []);
  useEffect(() => void read(), [read]);
  if (profiles.length === 0) return null;
  return (
    <details className="card profiles">
      <summary>{words.profile}</summary>
      {profiles.map((profile) => (
        <ProfileForm key={`${profile.kind}-${profile.id}-${profile.version}`} profile={profile} attempt={attempt} report={report} onStale={() => void read()}
          onSaved={(saved) => setProfiles(profiles.map((each) => each.kind === saved.kind && each.id === saved.id ? saved : each))} />
      ))}
    </details>
  );
}

interface FormProps extends Props {
  readonly profile: api.ProfileReply;
  readonly onSaved: (profile: api.ProfileReply) => void;
  readonly onStale: () => void;
}

function ProfileForm({ profile: { kind, id, fields, version }, attempt, report, onSaved, onStale }: FormProps) {
  const { memory: words, save } = useWords(table);
  const [text, setText] = useState(() => textOf(fields));
  const name = useId();
  // Only over the version that was shown: what somebody else wrote meanwhile is shown instead.
  const put = () => attempt(async () => {
    const given = fieldsOf(text);
    if (!given) return words.profileHint;
    try {
      onSaved(await client.writeProfile(kind, id, { fields: given }, version));
      return words.profileSaved;
    } catch (error) {
      if (codeOf(error) === "memory_changed") onStale();
      throw error;
    }
  });
  return (
    <form className="page-form" onSubmit={(event) => {
      event.preventDefault();
      report("");
      void put();
    }}>
      <label htmlFor={name}>{kind === "user" ? words.ownProfile : words.household(id)}</label>
      <textarea id={name} dir="auto" rows={Math.max(3, text.split("\n").length)} placeholder={words.profileHint} value={text}
        onChange={(event) => setText(event.target.value)} />
      <div className="buttons"><button type="submit" className="small">{save}</button></div>
    </form>
  );
}
