"""The messages of a session: read from its tables in one statement, and from its archives where rows moved.

One row holds everything: a reader's thread has to win the interpreter lock back after every row, which takes
milliseconds when the event loop is busy. Being one statement it is also of one moment: a session whose rows
move to an archive meanwhile is seen before or after that, never in between.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import orjson
from sqlalchemy import ColumnElement, Connection, and_, bindparam, exists, func, literal_column, or_, select

from gateway.storage.archives import ArchiveRow, CompressionRow
from gateway.storage.archives.rows import COMPRESSIONS
from gateway.storage.branches import Branch, no_branch
from gateway.storage.branches.branch_positions import IN_PROMPT, STORED, branch_of
from gateway.storage.database import Prepared
from gateway.storage.messages import History, PromptMemories, StoredMessage
from gateway.storage.row_codec import pairs_of
from gateway.storage.schema import (
    active_ranges,
    compressions,
    heads,
    instructions,
    messages,
    session_archives,
    sessions,
    turns,
)
from gateway.storage.sessions import Outline, SessionRow
from gateway.storage.sessions.json_rows import (
    MESSAGE_COLUMNS,
    archives_of,
    archives_where,
    as_json,
    message_of,
    messages_of,
    messages_where,
    prompt_memories_of,
    rows_of,
)
from gateway.storage.turns import TurnRow
from gateway.storage.turns.heads import OF_SESSION
from gateway.storage.turns.instructions import IN_FORCE
from gateway.storage.turns.rows import BROUGHT

LAST = 2**63 - 1


class ReadArchived(Protocol):
    """Reads the messages with position > `after` and <= `until` that an archive holds, in order. Raises
    errors.ArchiveDamaged."""

    async def __call__(self, row: ArchiveRow, *, after: int, until: int) -> Sequence[StoredMessage]: ...


@dataclass(frozen=True, slots=True)
class MessageRange:
    """The messages of a session, or of a `branch`, with `after` < position <= `until`: `rows`, and before
    these what lies in `archives`."""

    after: int
    until: int
    archives: Sequence[ArchiveRow]
    rows: Sequence[StoredMessage]
    branch: Branch | None = None

    async def read(self, archived: ReadArchived) -> Sequence[StoredMessage]:
        """All of them, in order. Raises errors.ArchiveDamaged."""
        found: list[StoredMessage] = []
        whole = [(self.after, self.until)]
        ranges = whole if self.branch is None else self.branch.within(self.after, self.until)
        for row in self.archives:
            for after, until in ranges:
                if row.from_position <= until and row.to_position > after:
                    found += await archived(row, after=after, until=until)
        return [*found, *self.rows]


@dataclass(frozen=True, slots=True)
class View:
    """A session's history before its archives are read: `kept` is the one message that the version in force
    keeps, if any."""

    kept: MessageRange | None
    since: MessageRange
    compression: CompressionRow | None
    generation_from: int
    carried: str | None
    failed_compressions: int
    prefix_hash: str | None
    memories: PromptMemories | None
    branch: Branch | None
    instructions: str | None
    was_brought: bool

    async def read(self, archived: ReadArchived) -> History:
        """Raises errors.ArchiveDamaged."""
        kept = await self.kept.read(archived) if self.kept else ()
        return self._of([*kept, *await self.since.read(archived)])

    def preloaded(self) -> History | None:
        """The history of a session without archives."""
        if self.since.archives:
            return None
        return self._of([*(self.kept.rows if self.kept else ()), *self.since.rows])

    def _of(self, messages: Sequence[StoredMessage]) -> History:
        return History(
            messages,
            self.compression,
            self.generation_from,
            self.carried,
            self.failed_compressions,
            self.prefix_hash,
            self.memories,
            self.branch,
            self.instructions,
            self.was_brought,
        )


_ID: ColumnElement[str] = bindparam("session_id")
_AFTER: ColumnElement[int] = bindparam("after")
_UNTIL: ColumnElement[int] = bindparam("until")
MESSAGES_IN_RANGE = Prepared(
    select(
        archives_where(session_archives.c.session_id == _ID, session_archives.c.to_position > _AFTER),
        messages_where(_ID, messages.c.position > _AFTER, messages.c.position <= _UNTIL),
    ).where(exists().where(sessions.c.id == _ID))
)

# One message may be large: it is read as it is, as the JSON of several is made of copies.
SINGLE_MESSAGE = Prepared(
    select(
        archives_where(
            session_archives.c.session_id == sessions.c.id, session_archives.c.to_position > _AFTER
        ),
        *MESSAGE_COLUMNS,
    )
    .join_from(sessions, messages, and_(rows_of(sessions.c.id), messages.c.position == _UNTIL), isouter=True)
    .where(sessions.c.id == _ID)
)

_covered = func.coalesce(compressions.c.to_position, literal_column("0"))
_in_force = and_(
    compressions.c.session_id == sessions.c.id,
    compressions.c.version == sessions.c.compression,
    bindparam("whole") == literal_column("0"),
)
_ranges = as_json(
    select(active_ranges.c.after_position, active_ranges.c.to_position)
    .where(active_ranges.c.session_id == sessions.c.id)
    .order_by(active_ranges.c.after_position)
    .correlate(sessions),
    quoted=frozenset(),
)
# The range that begins last before a message decides whether that is one of the branch.
_end = (
    select(active_ranges.c.to_position)
    .where(
        active_ranges.c.session_id == messages.c.session_id,
        active_ranges.c.after_position < messages.c.position,
    )
    .order_by(active_ranges.c.after_position.desc())
    .limit(literal_column("1"))
    .correlate(messages)
    .scalar_subquery()
)
_IN_ACTIVE = or_(sessions.c.branch.is_(None), messages.c.position <= _end)
# What a client or a file brought along comes before all that ran here.
_was_brought = (
    select(BROUGHT)
    .where(turns.c.session_id == sessions.c.id, turns.c.status == literal_column("'done'"))
    .order_by(turns.c.number)
    .limit(literal_column("1"))
    .correlate(sessions)
    .scalar_subquery()
)
_KNOWN = (
    sessions.c.generation_from,
    sessions.c.carried,
    sessions.c.failed_compressions,
    sessions.c.prefix_hash,
    sessions.c.told_memories,
    sessions.c.branch,
    _ranges,
    heads.c.position,
    instructions.c.text,
    _was_brought,
)
KNOWN = len(_KNOWN)
LAST_POSITION = KNOWN - 3
Known = tuple[int, str | None, int, str | None, PromptMemories | None, Branch | None, str | None, bool]
"""The last fields of a `View` and of a `History`."""
VIEW = Prepared(
    select(
        *_KNOWN,
        archives_where(session_archives.c.session_id == sessions.c.id),
        messages_where(sessions.c.id, messages.c.position == compressions.c.kept_position),
        messages_where(sessions.c.id, messages.c.position > _covered, _IN_ACTIVE),
        *COMPRESSIONS.columns,
    )
    .join_from(sessions, heads, OF_SESSION)
    .join(compressions, _in_force, isouter=True)
    .join(instructions, IN_FORCE, isouter=True)
    .where(sessions.c.id == _ID)
)
VERSION = Prepared(
    select(*COMPRESSIONS.columns).where(
        compressions.c.session_id == _ID, compressions.c.version == bindparam("version")
    )
)
OUTLINE = Prepared(
    select(*_KNOWN, *COMPRESSIONS.columns)
    .join_from(sessions, heads, OF_SESSION)
    .join(compressions, _in_force, isouter=True)
    .join(instructions, IN_FORCE, isouter=True)
    .where(sessions.c.id == _ID)
)


def range_of(connection: Connection, session_id: str, after: int, until: int | None) -> MessageRange:
    """The messages of a session; none when there is no such session."""
    last = LAST if until is None else until
    if last == after + 1:
        return single_of(connection, session_id, last)
    row = MESSAGES_IN_RANGE.one(connection, session_id=session_id, after=after, until=last)
    if row is None:
        return MessageRange(after, last, (), ())
    return MessageRange(after, last, archives_of(row[0]), messages_of(row[1]))


def single_of(connection: Connection, session_id: str, position: int) -> MessageRange:
    """The message at a position."""
    row = SINGLE_MESSAGE.one(connection, session_id=session_id, after=position - 1, until=position)
    if row is None:
        return MessageRange(position - 1, position, (), ())
    archives, at, turn_id, role, content, usage = row
    rows: Sequence[StoredMessage] = ()
    if at is not None:
        rows = [message_of(at, turn_id, role, orjson.loads(content), orjson.loads(usage) if usage else None)]
    return MessageRange(position - 1, position, archives_of(archives), rows)


def view_of(connection: Connection, session_id: str, *, whole: bool) -> View:
    """What a session's view is made of; an empty one when there is no such session."""
    row = VIEW.one(connection, session_id=session_id, whole=int(whole))
    if row is None:
        return View(None, MessageRange(0, LAST, (), ()), None, 0, None, 0, None, None, None, None, False)
    known, (archives, kept, since, *version) = _known(row), row[KNOWN:]
    archived, branch = archives_of(archives), known[-3]
    if version[0] is None:
        return View(None, MessageRange(0, LAST, archived, messages_of(since), branch), None, *known)
    covers = COMPRESSIONS.read(version)
    position = covers.kept_position
    one = MessageRange(position - 1, position, archived, messages_of(kept)) if position is not None else None
    rest = MessageRange(covers.to_position, LAST, archived, messages_of(since), branch)
    return View(one, rest, covers, *known)


def outline_of(
    connection: Connection, session: SessionRow, open_turn: TurnRow | None, *, whole: bool
) -> Outline:
    """What a session's view is made of, before its messages are read."""
    row = OUTLINE.one(connection, session_id=session.id, whole=int(whole))
    assert row is not None
    version = row[KNOWN:]
    covers = COMPRESSIONS.read(version) if version[0] is not None else None
    history = History((), covers, *_known(row))
    return Outline(session, open_turn, history, row[LAST_POSITION])


def outline_in(connection: Connection, session: SessionRow, branch: int, *, whole: bool) -> Outline:
    """`outline_of` in a branch that is not active: no turn runs there, and what its prompt has beside its
    messages is left out. Raises errors.NotFound (branch_not_found)."""
    place = branch_of(connection, session.id, branch)
    row = STORED.one(connection, session_id=session.id, branch=branch)
    if place is None or row is None:
        raise no_branch(session.id, branch)
    own = dict(zip(IN_PROMPT, row[1:], strict=True))
    covers = None
    if own["compression"] is not None and not whole:
        version = VERSION.one(connection, session_id=session.id, version=own["compression"])
        covers = COMPRESSIONS.read(version) if version is not None else None
    memories = prompt_memories_of(own["told_memories"])
    history = History((), covers, own["generation_from"], memories=memories, branch=place)
    return Outline(session, None, history, place.last)


def _known(row: Sequence[Any]) -> Known:
    """What _KNOWN selects."""
    generation_from, carried, failed, prefix_hash, in_prompt, number, ranges, last, *end = row[:KNOWN]
    instructions, was_brought = end
    branch = Branch(number, pairs_of(f"[{ranges}]"), last) if number is not None else None
    memories = prompt_memories_of(in_prompt)
    return generation_from, carried, failed, prefix_hash, memories, branch, instructions, bool(was_brought)
