"""The move itself."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import orjson
from sqlalchemy import Connection, exists, func, select, text

from gateway.errors import StorageError
from gateway.storage.memories import Indexed, MemoryRow
from gateway.storage.memories.conditions import partitions_of
from gateway.storage.memories.memory_database import Words
from gateway.storage.memories.rows import COLUMNS, memory_of
from gateway.storage.memories.schema import memories
from gateway.storage.memories.terms import PLAIN, Terms
from gateway.storage.migrations import HEAD, MEMORY_HEAD, MOVING
from gateway.storage.moving import MoveProgress, MovingDatabase, OnProgress, Values
from gateway.storage.moving.steps import STEPS, TABLES, Sum, TableCopy

SLICE_ROWS, SLICE_BYTES = 5_000, 8_000_000
"""A slice of rows ends with either."""
MEMORIES = 200
"""Memories whose words are made in one transaction."""

WORDS, CHECK = "words", "check"
"""The steps behind those of the tables."""

State = dict[str, Any]
"""`source`: its name; `schema`: the revisions of the tables; `step`: what is under way; `after`: the key of
the last row that was added in it."""

Index = Callable[[MemoryRow], Sequence[Indexed]]
"""By what a memory is found, as it is stored."""


def begin(source: MovingDatabase, target: MovingDatabase) -> bool:
    """Marks `target` as one that is being moved into. Returns whether a move from `source` goes on there.

    Raises:
        StorageError: it is not empty (code target_not_empty), also where a move from elsewhere, or one of
            another version of the gateway, is unfinished.
    """
    connection = target.connection
    state = {"source": source.name, "schema": [HEAD, MEMORY_HEAD], "step": STEPS[0].name, "after": None}
    with connection.begin():
        known = _state(target)
        if known is not None:
            if any(known[name] != state[name] for name in ("source", "schema")):
                raise _not_empty(f"{target.name} holds an unfinished move from {known['source']}")
            return True
        for table in TABLES:
            if connection.execute(select(exists(select(text("1")).select_from(table)))).scalar_one():
                raise _not_empty(f"{target.name} is not empty: it has {table.name}")
        connection.execute(text("CREATE TABLE unfinished_move (state TEXT NOT NULL)"))
        connection.execute(text("INSERT INTO unfinished_move (state) VALUES (:state)"), _written(state))
        _set_revision(target, MOVING)
    return False


def move(
    source: MovingDatabase, target: MovingDatabase, index: Index, report: OnProgress, terms: Terms = PLAIN
) -> int:
    """Adds everything, from where `begin` found it; words of memories in the spelling of `terms`. Returns how
    many rows it is.

    Raises:
        StorageError: the databases differ in the end (code move_differs), or one of them failed; called again
            it goes on.
    """
    with target.connection.begin():
        state = cast("State", _state(target))
    names = [*(step.name for step in STEPS), WORDS, CHECK]
    for name in names[names.index(state["step"]) :]:
        if name != state["step"]:
            state = state | {"step": name, "after": None}
        if name == WORDS:
            _add_words(target, target.words.spelled(terms), state, index, report)
        elif name != CHECK:
            _add_rows(source, target, STEPS[names.index(name)], state, report)
    rows = _check(source.connection, target, report)
    with target.connection.begin():
        target.settle()
        target.connection.execute(text("DROP TABLE unfinished_move"))
        _set_revision(target, HEAD)
    target.vacuum()
    return rows


def _add_rows(
    source: MovingDatabase, target: MovingDatabase, step: TableCopy, state: State, report: OnProgress
) -> None:
    connection, into = target.connection, step.into
    total, done = step.count(source.connection), 0
    if state["after"]:
        done = step.count(source.connection, until=state["after"])
    report(MoveProgress(step.name, done, total))
    for slice_ in _slices(step.rows(source.connection, state["after"])):
        with connection.begin():
            target.add(into, slice_)
            _save(connection, state | {"after": step.key_of(slice_[-1])})
        done += sum(map(step.weight, slice_))
        report(MoveProgress(step.name, done, total))


def _add_words(target: MovingDatabase, words: Words, state: State, index: Index, report: OnProgress) -> None:
    connection = target.connection
    present = memories.c.deleted_at.is_(None)
    after: int = state["after"] or 0
    with connection.begin():
        total = connection.execute(select(func.count()).select_from(memories).where(present)).scalar_one()
        at_first = memories.c.number <= after
        done = connection.execute(
            select(func.count()).select_from(memories).where(present, at_first)
        ).scalar_one()
    while True:
        report(MoveProgress(WORDS, done, total))
        with connection.begin():
            rows = connection.execute(
                select(memories.c.number, *COLUMNS)
                .where(present, memories.c.number > after)
                .order_by(memories.c.number)
                .limit(MEMORIES)
            ).fetchall()
            if not rows:
                return
            for number, *fields in rows:
                row = memory_of(fields)
                words.put(connection, number, partitions_of(row), index(row))
            after, done = rows[-1][0], done + len(rows)
            _save(connection, state | {"after": after})


def _check(source: Connection, target: MovingDatabase, report: OnProgress) -> int:
    """How many rows there are, the same ones on both sides."""
    here, there = dict.fromkeys(TABLES, Sum()), dict.fromkeys(TABLES, Sum())
    with target.connection.begin():
        for number, step in enumerate(STEPS):
            report(MoveProgress(CHECK, number, len(STEPS)))
            here[step.into] = here[step.into].plus(step.rows(source))
            there[step.into] = there[step.into].plus(step.rows(target.connection))
    report(MoveProgress(CHECK, len(STEPS), len(STEPS)))
    if differ := [table.name for table in TABLES if here[table] != there[table]]:
        raise StorageError(
            f"{target.name} differs from its source in {', '.join(differ)}: was the source in use between "
            "two attempts? Empty the target and move again.",
            code="move_differs",
            retryable=False,
        )
    return sum(each.count for each in there.values())


def _slices(rows: Iterator[Values]) -> Iterator[list[Values]]:
    found: list[Values] = []
    size = 0
    for row in rows:
        found.append(row)
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if len(found) == SLICE_ROWS or size > SLICE_BYTES:
            yield found
            found, size = [], 0
    if found:
        yield found


def _state(target: MovingDatabase) -> State | None:
    if not target.has("unfinished_move"):
        return None
    return orjson.loads(target.connection.execute(text("SELECT state FROM unfinished_move")).scalar_one())


def _save(connection: Connection, state: State) -> None:
    connection.execute(text("UPDATE unfinished_move SET state = :state"), _written(state))


def _written(state: State) -> dict[str, str]:
    return {"state": orjson.dumps(state).decode()}


def _set_revision(target: MovingDatabase, revision: str) -> None:
    # No gateway opens the database before it is whole.
    target.connection.execute(
        text(f"UPDATE {target.version_table} SET version_num = :revision"),  # noqa: S608 - a name of ours
        {"revision": revision},
    )


def _not_empty(what: str) -> StorageError:
    return StorageError(f"{what}. Move into an empty database.", code="target_not_empty", retryable=False)
