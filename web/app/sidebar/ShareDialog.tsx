// Whom a chat is shared with: the project that it is in, who is in that, and what else is shared there.

import type { api } from "@chat-gateway/client";
import { X } from "lucide-react";
import { type ReactNode, type SyntheticEvent, useCallback, useEffect, useId, useState } from "react";

import { caller } from "../caller";
import { Dialog } from "../Dialog";
import { changeFolder, createFolder, deleteFolder } from "../folders/folders";
import { inWords } from "../pages/problems";
import { hashOf, NEW_CHAT } from "../page-address";
import { useLanguage } from "../settings";
import { client, useWords } from "../state";
import { useStore } from "../store";
import { type Chat, chats } from "./chats";
import { may } from "./shared-chats";
import { shownTitle } from "./title";
import { words as table } from "./share-words";

type Role = api.RoleBody["role"];
const ROLES: readonly Role[] = ["reader", "editor", "owner"];
const LEVELS = ["none", "read", "write"] as const;
const NEW = "new"; // no id of a project

interface Props {
  readonly chat: Chat;
  readonly onClose: () => void;
}

export function ShareDialog({ chat, onClose }: Props) {
  const words = useWords(table);
  const language = useLanguage();
  const [projects, setProjects] = useState<readonly api.ProjectReply[]>([]);
  const [chosen, choose] = useState(chat.project_id ?? "");
  const [shared, setShared] = useState(chat.shared);
  const [trouble, setTrouble] = useState("");
  const attempt = useCallback((act: () => Promise<unknown>) => act().then(
    () => setTrouble(""),
    (error: unknown) => setTrouble(inWords(error as Error, language)),
  ), [language]);
  const read = useCallback(() => attempt(async () => setProjects((await client.projects()).projects)), [attempt]);
  useEffect(() => void read(), [read]);
  const project = projects.find(({ id }) => id === chosen);
  const isOwn = may(chat, "own");
  const share = (wanted: (typeof LEVELS)[number]) => attempt(async () => {
    await chats.change(chat.id, { project_id: chosen, shared: wanted });
    setShared(wanted === "none" ? undefined : wanted);
  });
  return (
    <Dialog title={isOwn ? words.title : words.theirTitle} className="sharing" onClose={onClose}>
      {isOwn ? (
        <label className="field">{words.project}
          <select value={chosen === NEW ? NEW : project?.id ?? ""} disabled={shared !== undefined} data-first onChange={({ target }) => choose(target.value)}>
            <option value="">{words.none}</option>
            {projects.map(({ id, name }) => <option key={id} value={id}>{name}</option>)}
            <option value={NEW}>{words.newProject}</option>
          </select>
        </label>
      ) : <p>{words.by(chat.shared_by ?? "", may(chat, "write"))}</p>}
      {chosen === NEW && (
        <NameForm label={words.name} act={words.create} onDone={(name) => attempt(async () => {
          const made = await createFolder(name);
          await read();
          choose(made.id);
        })} />
      )}
      {project && isOwn && project.role !== "reader" && (
        <fieldset className="choices">
          <legend>{words.access}</legend>
          {LEVELS.map((level) => (
            <label key={level} className="explained">
              <input type="radio" name="shared" checked={(shared ?? "none") === level} onChange={() => void share(level)} />
              <span>{words.levels[level]}{words.levelHints[level] !== "" && <small>{words.levelHints[level]}</small>}</span>
            </label>
          ))}
        </fieldset>
      )}
      {project && <Members key={project.id} project={project} attempt={attempt} onChange={read} onLeave={onClose} />}
      <p role="alert" className="trouble">{trouble}</p>
    </Dialog>
  );
}

interface MembersProps {
  readonly project: api.ProjectReply;
  readonly attempt: (act: () => Promise<unknown>) => Promise<void>;
  readonly onChange: () => Promise<void>;
  readonly onLeave: () => void;
}

function Members({ project, attempt, onChange, onLeave }: MembersProps) {
  const words = useWords(table);
  const me = useStore(caller, (value) => value.me?.user_id.split("/").at(-1));
  const [members, setMembers] = useState<readonly api.MemberReply[]>([]);
  const [invited, setInvited] = useState<readonly api.InvitedReply[]>([]);
  const [others, setOthers] = useState<readonly Chat[]>([]);
  const { id } = project;
  const isOwner = project.role === "owner";
  const read = useCallback(() => attempt(async () => {
    const [{ members: found, invited: asked }, { sessions }] = await Promise.all([client.project(id), client.sessions({ project_id: id, whose: "others" })]);
    setMembers(found);
    setInvited(asked);
    setOthers(sessions);
  }), [attempt, id]);
  useEffect(() => void read(), [read]);
  const change = (act: () => Promise<unknown>) => attempt(async () => {
    await act();
    await onChange();
    await read();
  });
  const leave = (user: string) => attempt(async () => {
    await client.removeMember(id, user);
    await onChange();
    if (user !== me) await read();
    else void chats.readShared();
  });
  return (
    <>
      <section aria-label={words.members} className="members">
        <h3>{words.members}</h3>
        <ul>
          {members.map(({ user, role }) => (
            <li key={user}>
              <span dir="auto">{user}</span>
              {isOwner ? (
                <select aria-label={words.roleOf(user)} value={role} onChange={({ target }) => void change(() => client.putMember(id, user, target.value as Role))}>
                  {ROLES.map((each) => <option key={each} value={each}>{words.roles[each]}</option>)}
                </select>
              ) : <small>{words.roles[role]}</small>}
              {(isOwner || user === me) && <Remove label={user === me ? words.leave : words.remove(user)} act={() => void leave(user)} />}
            </li>
          ))}
          {invited.map(({ user, role }) => (
            <li key={user}>
              <span dir="auto">{user}</span>
              <small>{words.roles[role]} · {words.invited}</small>
              {isOwner && <Remove label={words.takeBack(user)} act={() => void change(() => client.removeMember(id, user))} />}
            </li>
          ))}
        </ul>
        {isOwner && <NameForm label={words.user} hint={words.userHint} act={words.add} onDone={(user) => change(() => client.putMember(id, user, "reader"))} />}
      </section>
      {others.length > 0 && (
        <section aria-label={words.others} className="members">
          <h3>{words.others}</h3>
          <ul>
            {others.map((each) => (
              <li key={each.id}>
                <a href={hashOf({ ...NEW_CHAT, session: each.id })} dir="auto" onClick={onLeave}>{shownTitle(each, words.untitled)}</a><small dir="auto">{each.shared_by}</small>
              </li>
            ))}
          </ul>
        </section>
      )}
      {isOwner && (
        <details className="members">
          <summary>{words.manage}</summary>
          <NameForm label={words.name} act={words.rename} value={project.name} onDone={(name) => change(() => changeFolder(id, { name }))} />
          <DeleteProject onDone={() => attempt(async () => {
            await deleteFolder(id);
            await onChange();
          })} />
        </details>
      )}
    </>
  );
}

function Remove({ label, act }: { readonly label: string; readonly act: () => void }) {
  return <button type="button" className="icon" aria-label={label} title={label} onClick={act}><X /></button>;
}

// It asks once more, as nothing brings a project back.
function DeleteProject({ onDone }: { readonly onDone: () => Promise<void> }) {
  const words = useWords(table);
  const [isAsked, setAsked] = useState(false);
  if (!isAsked) return <button type="button" className="small" onClick={() => setAsked(true)}>{words.delete}</button>;
  return (
    <>
      <p>{words.deleteHint}</p>
      <div className="buttons">
        <button type="button" className="primary dangerous" onClick={() => void onDone()}>{words.deleteNow}</button>
        <button type="button" className="small" autoFocus onClick={() => setAsked(false)}>{words.cancel}</button>
      </div>
    </>
  );
}

interface NameFormProps {
  readonly label: ReactNode;
  readonly hint?: string;
  readonly act: string;
  readonly value?: string;
  readonly onDone: (name: string) => Promise<void>;
}

// One field under its label, and a button that does something with it.
function NameForm({ label, hint, act, value = "", onDone }: NameFormProps) {
  const id = useId();
  const [text, setText] = useState(value);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    const name = text.trim();
    if (name !== "" && name !== value) void onDone(name).then(() => setText(value === "" ? "" : name));
  };
  return (
    <form className="field" aria-labelledby={`${id}-label`} onSubmit={submit}>
      <label id={`${id}-label`} htmlFor={id}>{label}</label>
      <div className="one-line">
        <input id={id} type="text" value={text} maxLength={100} autoComplete="off" aria-describedby={hint === undefined ? undefined : `${id}-hint`} onChange={({ target }) => setText(target.value)} />
        <button type="submit" className="small">{act}</button>
      </div>
      {hint !== undefined && <small id={`${id}-hint`} className="faint">{hint}</small>}
    </form>
  );
}
