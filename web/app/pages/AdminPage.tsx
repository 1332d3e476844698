// What those look after who run the gateway; an admin of a tenant has its users, keys and audit alone.

import { useState } from "react";

import { caller } from "../caller";
import { useWords } from "../state";
import { useStore } from "../store";
import { AuditEntries } from "./admin/AuditEntries";
import { Health } from "./admin/Health";
import { Keys } from "./admin/Keys";
import { LimitRules } from "./admin/LimitRules";
import { McpServers } from "./admin/McpServers";
import { Users } from "./admin/Users";
import { words as table } from "./admin/admin-words";
import "./pages.css";

const OF_ADMINS = ["users", "keys", "audit"] as const;
const OF_THE_OPERATOR = ["users", "keys", "limits", "servers", "health", "audit"] as const;
const SECTIONS = { users: Users, keys: Keys, limits: LimitRules, servers: McpServers, health: Health, audit: AuditEntries };

export default function AdminPage() {
  const words = useWords(table);
  const isOperator = useStore(caller, ({ me }) => me?.is_operator === true);
  const [chosen, setChosen] = useState<keyof typeof SECTIONS>("users");
  const Section = SECTIONS[chosen];
  return (
    <section className="page">
      <nav className="page-bar" aria-label={words.section}>
        {(isOperator ? OF_THE_OPERATOR : OF_ADMINS).map((each) => (
          <button key={each} type="button" className="small" aria-pressed={chosen === each} onClick={() => setChosen(each)}>{words.sections[each]}</button>
        ))}
      </nav>
      <Section key={chosen} />
    </section>
  );
}
