"""Texts of the turns that a search found, as far as they have the words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import orjson
from sqlalchemy import ColumnElement, Connection, bindparam, literal_column, select

from gateway.lexical import Sought
from gateway.messages import texts_of
from gateway.storage.database import Prepared
from gateway.storage.messages import StoredMessage
from gateway.storage.schema import messages, sessions, turns
from gateway.storage.sessions import MatchedText
from gateway.storage.sessions.message_queries import MessageRange, range_of
from gateway.storage.sessions.search_excerpts import excerpt, has_all, marked
from gateway.thinking_in_text import said_in

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


MAX_ANSWERS = 200_000
"""Bytes of a turn's answers, as they are stored, that are looked through."""


@dataclass(slots=True)
class TextMatch:
    """A session that was found: its title and the texts of the turn, the user's message first, whose answers
    come `after` that position. `archived` is where those lie that are no rows any more."""

    session_id: str
    title: str | None
    turn_id: str | None = None
    texts: Sequence[str] = ()
    after: int | None = None
    archived: MessageRange | None = None

    def take(self, answers: Iterable[StoredMessage]) -> None:
        """What the archive has."""
        mine = (each.message for each in answers if each.turn_id == self.turn_id)
        self.texts = [
            *self.texts,
            *(text for each in mine if each.role == "assistant" for text in texts_of(each)),
        ]

    def lacks(self, words: Sequence[Sought]) -> bool:
        """Whether one of `words` is not in the message, so that the answers may have it."""
        return self.after is not None and not has_all(self.texts, words)

    def found(self, words: Sequence[Sought], *, read: bool = True) -> MatchedText:
        """Where the words stand; without `read` the title alone is looked at."""
        text = excerpt(self.texts, words) if read else None
        return MatchedText(marked(self.title or "", words), self.turn_id, text)


def hits_of(connection: Connection, owner: str, newest: Mapping[str, int]) -> list[TextMatch]:
    """Of each session the turn of that number (see `TurnWords.newest_turns`), without its answers."""
    hits: list[TextMatch] = []
    for session_id, number in newest.items():
        row = TITLE.one(connection, session_id=session_id, owner=owner)
        if row is None:
            continue
        hit = TextMatch(session_id, row[0])
        hits.append(hit)
        turn = TURN.one(connection, session_id=session_id, others=number - 1) if number else None
        if turn is not None:
            hit.turn_id, text, hit.after = turn
            hit.texts = [text]
    return hits


def answers_of(connection: Connection, hits: Iterable[TextMatch]) -> list[tuple[TextMatch, list[str]]]:
    """The answers of those turns as they are stored, without what is archived."""
    return [(hit, _stored_answers(connection, hit, hit.after)) for hit in hits if hit.after is not None]


def add_answers(answers: Iterable[tuple[TextMatch, list[str]]]) -> None:
    for hit, stored in answers:
        hit.texts = [*hit.texts, *(text for each in stored for text in said_in(orjson.loads(each)))]


def _stored_answers(connection: Connection, hit: TextMatch, after: int) -> list[str]:
    until, found, left = after + SPAN, list[str](), MAX_ANSWERS
    place = {"session_id": hit.session_id, "after": after, "until": until}
    for (stored,) in ANSWERS.run(connection, turn_id=hit.turn_id, **place):
        found.append(stored)
        left -= len(stored)
        if left <= 0:
            break
    if not found:
        part = range_of(connection, hit.session_id, after, until)
        hit.archived = part if part.archives else None
    return found
