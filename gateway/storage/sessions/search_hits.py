"""Texts of the turns that a search found, as far as they have the words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import orjson
from sqlalchemy import ColumnElement, Connection, bindparam, literal_column, select

from gateway.lexical import places
from gateway.storage.database import Prepared
from gateway.storage.messages import StoredMessage
from gateway.storage.schema import messages, sessions, turns
from gateway.storage.sessions import MatchedText
from gateway.storage.sessions.message_queries import MessageRange, range_of
from gateway.storage.sessions.search_excerpts import excerpt, marked

SPAN = 64
"""Messages of a turn that are looked through: thirty calls of the model with their results."""

_ID: ColumnElement[str] = bindparam("session_id")
TITLE = Prepared(select(sessions.c.title).where(sessions.c.id == _ID, sessions.c.owner == bindparam("owner")))
TURN = Prepared(
    select(turns.c.id, turns.c.input, turns.c.after_position)
    .where(turns.c.session_id == _ID, turns.c.status == "done")
    .order_by(turns.c.last_seq)
    .limit(literal_column("1"))
    .offset(bindparam("others"))
)
ANSWERS = Prepared(
    select(messages.c.content)
    .where(
        messages.c.session_id == _ID,
        messages.c.position > bindparam("after"),
        messages.c.position <= bindparam("until"),
        messages.c.turn_id == bindparam("turn_id"),
        messages.c.role == "assistant",
    )
    .order_by(messages.c.position)
)


@dataclass(slots=True)
class TextMatch:
    """A session that was found: its title and the texts of the turn, the user's message first. `archived` is
    where answers lie that are no rows any more."""

    session_id: str
    title: str | None
    turn_id: str | None = None
    texts: Sequence[str] = ()
    archived: MessageRange | None = None

    def take(self, answers: Iterable[StoredMessage]) -> None:
        """What the archive has."""
        mine = (each.message for each in answers if each.turn_id == self.turn_id)
        self.texts = [
            *self.texts,
            *(text for each in mine if each.role == "assistant" for text in _texts_of(each.content)),
        ]

    def found(self, words: Sequence[str]) -> MatchedText:
        return MatchedText(marked(self.title or "", words), self.turn_id, excerpt(self.texts, words))


def hits_of(
    connection: Connection, owner: str, words: Sequence[str], newest: Mapping[str, int]
) -> list[TextMatch]:
    """Of each session the turn of that number (see `TurnWords.newest_turns`), without what is archived."""
    hits: list[TextMatch] = []
    for session_id, number in newest.items():
        row = TITLE.one(connection, session_id=session_id, owner=owner)
        if row is None:
            continue
        hit = TextMatch(session_id, row[0])
        hits.append(hit)
        turn = TURN.one(connection, session_id=session_id, others=number - 1) if number else None
        if turn is not None:
            hit.turn_id, text, after = turn
            hit.texts = [text]
            if after is not None and len({word for _, _, word in places(text, words)}) < len(words):
                _add_answers(connection, hit, after)
    return hits


def _add_answers(connection: Connection, hit: TextMatch, after: int) -> None:
    until = after + SPAN
    place = {"session_id": hit.session_id, "after": after, "until": until}
    rows = ANSWERS.run(connection, turn_id=hit.turn_id, **place).fetchall()
    if rows:
        hit.texts = [*hit.texts, *(text for row in rows for text in _texts_of(orjson.loads(row[0])))]
    else:
        part = range_of(connection, hit.session_id, after, until)
        hit.archived = part if part.archives else None


def _texts_of(content: Sequence[Mapping[str, object]]) -> list[str]:
    return [str(block["text"]) for block in content if block["type"] == "text"]
