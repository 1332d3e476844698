// Links to chats, each with its end.

import type { api } from "@chat-gateway/client";

import { now } from "../../clock";
import { hashOf, NEW_CHAT } from "../../page-address";
import { useWords } from "../../state";
import { useTime } from "../locale-formats";
import { words as table } from "./link-words";

interface Props {
  readonly links: readonly api.LinkReply[];
  /** Whether each says which chat it is to. */
  readonly hasTitles?: boolean;
  readonly onEnd: (link: api.LinkReply) => void;
}

export function LinkRows({ links, hasTitles = false, onEnd }: Props) {
  const words = useWords(table);
  const time = useTime();
  if (links.length === 0) return <p className="empty">{words.none}</p>;
  return (
    <ul className="cards">
      {links.map((link) => {
        const title = link.title ?? words.untitled;
        const isOver = link.expires_at !== undefined && link.expires_at <= now();
        return (
          <li key={link.id} className="card row">
            <div>
              {hasTitles && <a href={hashOf({ ...NEW_CHAT, session: link.session_id })} dir="auto">{title}</a>}
              <small>{[
                words.audiences[link.audience], link.live ? words.isLive : words.asOf(time(link.created_at)),
                ...(isOver ? [words.over] : link.expires_at !== undefined ? [words.ends(time(link.expires_at))] : []),
                link.opened_at === undefined ? words.never : words.opened(link.openings, time(link.opened_at)),
              ].map((text) => <span key={text} className="link-fact">{text}</span>)}</small>
            </div>
            <button type="button" className="small" aria-label={words.endOf(title)} onClick={() => onEnd(link)}>{words.end}</button>
          </li>
        );
      })}
    </ul>
  );
}
