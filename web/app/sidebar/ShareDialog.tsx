// Whom a chat is shared with: the project that it is in, who is in that, and what else is shared there.

import type { api } from "@chat-gateway/client";
import { X } from "lucide-react";
import { type SyntheticEvent, useCallback, useEffect, useState } from "react";

import { caller } from "../caller";
import { Dialog } from "../Dialog";
import { inWords } from "../pages/problems";
import { hashOf, NEW_CHAT } from "../page-address";
import { useLanguage } from "../settings";
import { client, useWords } from "../state";
import { useStore } from "../store";
import { type Chat, chats } from "./chats";
import { words as table } from "./share-words";

type Role = api.RoleBody["role"];
const ROLES: readonly Role[] = ["reader", "editor", "owner"];

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
  const isShared = shared !== undefined;
  const [trouble, setTrouble] = useState("");
  const attempt = useCallback((act: () => Promise<unknown>) => act().then(
    () => setTrouble(""),
    (error: unknown) => setTrouble(inWords(error as Error, language)),
  ), [language]);
  const read = useCallback(() => attempt(async () => setProjects((await client.projects()).projects)), [attempt]);
  useEffect(() => void read(), [read]);
  const project = projects.find(({ id }) => id === chosen);
  const isOwn = chat.shared_by === undefined;
  const share = (wanted: Chat["shared"]) => attempt(async () => {
    await chats.change(chat.id, { project_id: chosen, shared: wanted ?? "none" });
    setShared(wanted);
  });
  return (
    <Dialog title={words.title} onClose={onClose}>
      {!isOwn && <p>{words.by(chat.shared_by, shared === "write")}</p>}
      <label className="field">{words.project}
        <select value={project?.id ?? ""} disabled={!isOwn || isShared} data-first onChange={({ target }) => choose(target.value)}>
          <option value="">{words.none}</option>
          {projects.map(({ id, name }) => <option key={id} value={id}>{name}</option>)}
        </select>
      </label>
      {isOwn && !isShared && (
        <NameForm label={words.newProject} act={words.create} onDone={(name) => attempt(async () => {
          const made = await client.createProject({ name });
          await read();
          choose(made.id);
        })} />
      )}
      {project && (
        <>
          {isOwn && project.role !== "reader" && (
            <label className="check">
              <input type="checkbox" checked={isShared} onChange={({ target }) => void share(target.checked ? "read" : undefined)} /> {words.isShared}
              <small className="hint">{words.hint}</small>
            </label>
          )}
          {isOwn && isShared && (
            <label className="check">
              <input type="checkbox" checked={shared === "write"} onChange={({ target }) => void share(target.checked ? "write" : "read")} /> {words.isWritten}
              <small className="hint">{words.writtenHint}</small>
            </label>
          )}
          <Members key={project.id} project={project} attempt={attempt} onChange={read} />
        </>
      )}
      <p role="alert" className="trouble">{trouble}</p>
    </Dialog>
  );
}

interface MembersProps {
  readonly project: api.ProjectReply;
  readonly attempt: (act: () => Promise<unknown>) => Promise<void>;
  readonly onChange: () => Promise<void>;
}

function Members({ project, attempt, onChange }: MembersProps) {
  const words = useWords(table);
  const me = useStore(caller, (value) => value.me?.user_id.split("/").at(-1));
  const [members, setMembers] = useState<readonly api.MemberReply[]>([]);
  const [invited, setInvited] = useState<readonly api.InvitedReply[]>([]);
  const [others, setOthers] = useState<readonly Chat[]>([]);
  const { id } = project;
  const isOwner = project.role === "owner";
  const read = useCallback(() => attempt(async () => {
    const [{ members: found, invited: asked }, { sessions }] = await Promise.all([client.project(id), client.sessions({ project_id: id })]);
    setMembers(found);
    setInvited(asked);
    setOthers(sessions.filter(({ shared_by }) => shared_by !== undefined));
  }), [attempt, id]);
  useEffect(() => void read(), [read]);
  const change = (act: () => Promise<unknown>) => attempt(async () => {
    await act();
    await onChange();
    await read();
  });
  return (
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
            {(isOwner || user === me) && (
              <button type="button" className="icon" aria-label={user === me ? words.leave : words.remove(user)} title={user === me ? words.leave : words.remove(user)}
                onClick={() => void attempt(async () => {
                  await client.removeMember(id, user);
                  await onChange();
                  if (user !== me) await read();
                })}><X /></button>
            )}
          </li>
        ))}
        {invited.map(({ user, role }) => (
          <li key={user}>
            <span dir="auto">{user}</span>
            <small>{words.roles[role]} · {words.invited}</small>
            {isOwner && (
              <button type="button" className="icon" aria-label={words.takeBack(user)} title={words.takeBack(user)}
                onClick={() => void change(() => client.removeMember(id, user))}><X /></button>
            )}
          </li>
        ))}
      </ul>
      {isOwner && (
        <>
          <NameForm label={words.user} act={words.add} onDone={(user) => change(() => client.putMember(id, user, "reader"))} />
          <NameForm label={words.name} act={words.rename} onDone={(name) => change(() => client.renameProject(id, name))} />
          <button type="button" className="small" title={words.deleteHint} onClick={() => void attempt(async () => {
            await client.deleteProject(id);
            await onChange();
          })}>{words.delete}</button>
        </>
      )}
      {others.length > 0 && (
        <>
          <h3>{words.others}</h3>
          <ul>
            {others.map((each) => (
              <li key={each.id}><a href={hashOf({ ...NEW_CHAT, session: each.id })} dir="auto">{each.title ?? words.untitled}</a><small dir="auto">{each.shared_by}</small></li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

interface NameFormProps {
  readonly label: string;
  readonly act: string;
  readonly onDone: (name: string) => Promise<void>;
}

// One line, and a button that does something with it.
function NameForm({ label, act, onDone }: NameFormProps) {
  const [text, setText] = useState("");
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (text.trim() !== "") void onDone(text.trim()).then(() => setText(""));
  };
  return (
    <form className="one-line" aria-label={label} onSubmit={submit}>
      <input type="text" value={text} maxLength={100} placeholder={label} aria-label={label} onChange={({ target }) => setText(target.value)} />
      <button type="submit" className="small">{act}</button>
    </form>
  );
}
