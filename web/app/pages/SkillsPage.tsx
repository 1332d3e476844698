// The catalog of skills: what the model may use, by kind, each with a switch, its particulars, and a way to try it.

import type { api } from "@chat-gateway/client";
import { Play, RefreshCw } from "lucide-react";
import { useCallback, useEffect, useState } from "react";

import { caller } from "../caller";
import { inARow } from "../language";
import { client, useWords } from "../state";
import { useStore } from "../store";
import { MarkedText } from "../sidebar/MarkedText";
import { marked } from "../sidebar/highlight";
import { codeOf } from "./problems";
import { TryOut } from "./skills/TryOut";
import { type Parameter, parametersOf } from "./skills/parameters";
import { type PageStatus, usePageStatus } from "./page-status";
import { StatusLine } from "./StatusLine";
import { words as table } from "./page-words";
import "./pages.css";

const KINDS = ["all", "function", "markdown", "mcp"] as const;
type Kind = (typeof KINDS)[number];

export default function SkillsPage() {
  const { skills: words, ...common } = useWords(table);
  const { status, attempt } = usePageStatus();
  const [kind, setKind] = useState<Kind>("all");
  const [query, setQuery] = useState("");
  const [list, setList] = useState<api.SkillList | null>(null);
  const [tried, setTried] = useState<api.SkillRow | null>(null);

  const show = useCallback((from: () => Promise<api.SkillList>) => attempt(async () => {
    setList(await from());
    return undefined;
  }), [attempt]);
  useEffect(() => void show(() => client.skills()), [show]);

  const isOperator = useStore(caller, ({ me }) => me?.is_operator === true); // whose switches they are
  const wanted = query.trim().toLowerCase();
  const rows = list?.skills.filter(({ type, name, description }) =>
    (kind === "all" || type === kind) && `${name} ${description}`.toLowerCase().includes(wanted)) ?? [];
  const replace = (skill: api.SkillRow) =>
    setList((known) => known && { ...known, skills: known.skills.map((each) => each.name === skill.name ? skill : each) });
  return (
    <section className="page">
      <div className="page-bar">
        <input type="search" maxLength={200} autoComplete="off" value={query} placeholder={words.search} aria-label={words.search}
          onChange={(event) => setQuery(event.target.value)} />
        <select aria-label={words.kind} value={kind} onChange={(event) => setKind(event.target.value as Kind)}>
          {KINDS.map((each) => <option key={each} value={each}>{words.kinds[each]}</option>)}
        </select>
        {isOperator && <button type="button" className="small" onClick={() => void show(() => client.refreshSkills())}><RefreshCw aria-hidden="true" />{common.refresh}</button>}
      </div>
      <p className="faint">{inARow(words.forEverybody, words.howToAdd)}</p>
      <StatusLine status={status} />
      {isOperator && <SignIns attempt={attempt} />}
      {list && list.warnings.length > 0 && (
        <details className="card" open>
          <summary>{common.warnings}</summary>
          <ul>{list.warnings.map((warning) => <li key={warning} className="trouble" dir="auto">{warning}</li>)}</ul>
        </details>
      )}
      <ul className="cards" aria-busy={list === null}>
        {rows.map((skill) => (
          <SkillCard key={skill.name} skill={skill} query={query} attempt={attempt} onChanged={replace} mayChange={isOperator} onTry={() => setTried(skill)} />
        ))}
        {list && rows.length === 0 && <li className="empty">{wanted === "" ? words.none : common.nothingFound}</li>}
      </ul>
      {tried && <TryOut skill={tried} onClose={() => setTried(null)} />}
    </section>
  );
}

/** The MCP servers that ask for a sign-in, each with a button that leads to it. */
function SignIns({ attempt }: { readonly attempt: PageStatus["attempt"] }) {
  const { skills: words } = useWords(table);
  const [servers, setServers] = useState<readonly api.McpServerRow[]>([]);
  useEffect(() => void attempt(async () => {
    setServers((await client.mcpServers()).servers);
    return undefined;
  }), [attempt]);
  const wanted = servers.filter(({ status }) => status === "needs_sign_in");
  const signIn = (name: string) => attempt(async () => {
    window.location.assign((await client.beginMcpSignIn(name)).url);
    return undefined;
  });
  return wanted.length === 0 ? null : (
    <ul className="cards">
      {wanted.map(({ name }) => (
        <li key={name} className="card">
          <div className="card-head">
            <b className="name">{name}</b>
            <small>{words.needsSignIn}</small>
            <button type="button" className="small" onClick={() => void signIn(name)}>{words.signIn}<span className="unseen"> {name}</span></button>
          </div>
        </li>
      ))}
    </ul>
  );
}

interface CardProps {
  readonly skill: api.SkillRow;
  readonly query: string;
  readonly attempt: PageStatus["attempt"];
  readonly mayChange: boolean;
  readonly onChanged: (skill: api.SkillRow) => void;
  readonly onTry: () => void;
}

function SkillCard({ skill, query, attempt, mayChange, onChanged, onTry }: CardProps) {
  const { skills: words } = useWords(table);
  const { name, type, description, source, location, enabled, metadata } = skill;
  const parameters = parametersOf(metadata);
  const turn = () => attempt(async () => {
    try {
      onChanged(await client.switchSkill(name, !enabled));
    } catch (error) {
      if (codeOf(error) === "conflict") throw Object.assign(new Error(), { code: "cannot_switch" });
      throw error;
    }
    return undefined;
  });
  return (
    <li className="card skill-card">
      <div className="card-head">
        <b className="name"><MarkedText spans={marked(name, query)} /></b>
        <small>{words.types[type]} · {source === "built-in" ? words.builtIn : source}</small>
        <button type="button" role="switch" className="switch" aria-checked={enabled} aria-label={words.enabled(name)} disabled={!mayChange} onClick={() => void turn()} />
      </div>
      <p className="description" dir="auto"><MarkedText spans={marked(description, query)} /></p>
      <div className="buttons">
        <details>
          <summary>{words.more}<span className="unseen"> {name}</span></summary>
          <h2>{words.location}</h2>
          <p className="location"><code>{location}</code></p>
          {parameters.length > 0 && <Parameters parameters={parameters} />}
        </details>
        {enabled && <button type="button" className="small" onClick={onTry}><Play aria-hidden="true" />{words.tryOut}<span className="unseen"> {name}</span></button>}
      </div>
    </li>
  );
}

function Parameters({ parameters }: { readonly parameters: readonly Parameter[] }) {
  const { skills: words } = useWords(table);
  return (
    <>
      <h2>{words.parameters}</h2>
      <dl className="facts">
        {parameters.map(({ name, type, description, isRequired }) => (
          <div key={name}>
            <dt><code>{name}</code> <small>{[type, isRequired && words.required].filter(Boolean).join(", ")}</small></dt>
            {description !== "" && <dd dir="auto">{description}</dd>}
          </div>
        ))}
      </dl>
    </>
  );
}
