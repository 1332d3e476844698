// Where a search of the chats looks: in titles or messages, in how many days, in which folder, among which chats.

import { ListFilter } from "lucide-react";
import { type ReactNode, useId, useState } from "react";

import { useFolders } from "../folders/folders";
import { useWords } from "../state";
import { useStore } from "../store";
import { chats, type Filter } from "./chats";
import { words as table } from "./filter-words";

const DAYS = [1, 7, 30, 365] as const;

export function SearchFilter() {
  const words = useWords(table);
  const folders = useFolders();
  const filter = useStore(chats.store, (state) => state.filter);
  const hasQuery = useStore(chats.store, ({ query }) => query !== "");
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const count = Object.keys(filter).length;
  if (!hasQuery && count === 0) return null;
  const change = (name: keyof Filter, value: string) => {
    const others = Object.fromEntries(Object.entries(filter).filter(([each]) => each !== name)) as Filter;
    void chats.look(value === "" ? others : { ...others, [name]: name === "days" ? Number(value) : value });
  };
  return (
    <div className="search-filter">
      <button type="button" className="small" aria-expanded={isOpen} aria-controls={isOpen ? id : undefined} onClick={() => setOpen(!isOpen)}>
        <ListFilter aria-hidden />{count > 0 ? words.filtered(count) : words.filter}
      </button>
      {count > 0 && <button type="button" className="small" onClick={() => void chats.look({})}>{words.clear}</button>}
      {isOpen && (
        <div id={id} className="search-choices" role="group" aria-label={words.filter}>
          <Choice label={words.where} value={filter.found_in} onChange={(value) => change("found_in", value)}>
            <option value="">{words.anywhere}</option><option value="title">{words.titles}</option><option value="messages">{words.messages}</option>
          </Choice>
          <Choice label={words.when} value={filter.days?.toString()} onChange={(value) => change("days", value)}>
            <option value="">{words.anyTime}</option>{DAYS.map((days) => <option key={days} value={days}>{words.days(days)}</option>)}
          </Choice>
          {folders.length > 0 && (
            <Choice label={words.folder} value={filter.project_id} onChange={(value) => change("project_id", value)}>
              <option value="">{words.anyFolder}</option>{folders.map(({ id: folder, name }) => <option key={folder} value={folder}>{name}</option>)}
            </Choice>
          )}
          <Choice label={words.among} value={filter.archived} onChange={(value) => change("archived", value)}>
            <option value="">{words.allChats}</option><option value="false">{words.notArchived}</option><option value="true">{words.archived}</option>
          </Choice>
        </div>
      )}
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string) => void;
  readonly children: ReactNode;
}

function Choice({ label, value = "", onChange, children }: ChoiceProps) {
  return <label><span className="faint">{label}</span><select value={value} onChange={({ target }) => onChange(target.value)}>{children}</select></label>;
}
