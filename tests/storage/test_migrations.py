"""Migrations lead to the tables that are defined, from any state, and refuse what they do not know."""

import asyncio
import json
import logging
import re
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, create_engine, inspect

import gateway.storage.migrations
from gateway import __version__
from gateway.lexical import tokens
from gateway.memory.passages import passages
from gateway.memory.search.query import MemoryQuery
from gateway.memory.search.searcher import Searcher
from gateway.storage import data_folder_lock, schema
from gateway.storage.data_folder_lock import opening
from gateway.storage.log.packs import MAX_EVENTS
from gateway.storage.memories import Filter, as_json
from gateway.storage.memories import schema as memory_schema
from gateway.storage.memories.conditions import partitions_of
from gateway.storage.memories.store import MemoryStore
from gateway.storage.memories.terms import PLAIN
from gateway.storage.migrations import (
    HEAD,
    MEMORIES,
    MEMORY_HEAD,
    SESSIONS,
    Chain,
    migrate,
    migrate_memories,
    schema_of,
    upgrade,
)
from gateway.storage.sqlite import SqliteDatabase
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase
from tests.newer import newer, next_revision
from tests.product import StorageError, encode, encode_scope, indexed, storage_on
from tests.record import stored_events
from tests.storage.remembering import ANN, document, memory
from tests.storage.writing import left_open

Migrate = Callable[[Path], tuple[str | None, str]]

BOTH = pytest.mark.parametrize(("bring", "head"), [(migrate, HEAD), (migrate_memories, MEMORY_HEAD)])

INDEXES = """
    SELECT name, sql FROM sqlite_master
    WHERE type = 'index' AND tbl_name != 'alembic_version' AND tbl_name NOT LIKE 'search_%'
    AND tbl_name NOT LIKE 'memory_words%' ORDER BY name
"""


def is_common(name: str | None, kind: str, _parents: object) -> bool:
    """Whether a table is for every engine, and so in the schema: the full text index is SQLite's own."""
    return kind != "table" or name is None or not name.startswith(("search_", "memory_words"))


@pytest.mark.parametrize(
    ("bring", "head", "metadata", "index"),
    [
        (migrate, HEAD, schema.metadata, "turns_one_running"),
        (migrate_memories, MEMORY_HEAD, memory_schema.metadata, "memories_once"),
    ],
)
def test_the_migrated_tables_are_those_of_the_schema(
    tmp_path: Path, bring: Migrate, head: str, metadata: MetaData, index: str
) -> None:
    """Alembic's comparison finds no difference, and neither do the conditions of the partial indexes."""
    path = tmp_path / "data" / "some.db"
    assert bring(path) == (None, head)

    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        differences = compare_metadata(
            MigrationContext.configure(connection, opts={"compare_type": True, "include_name": is_common}),
            metadata,
        )
        migrated = [tuple(row) for row in connection.exec_driver_sql(INDEXES)]
    engine.dispose()
    direct = create_engine(f"sqlite:///{tmp_path / 'direct.db'}")
    metadata.create_all(direct)
    with direct.connect() as connection:
        defined = [tuple(row) for row in connection.exec_driver_sql(INDEXES)]
    direct.dispose()

    assert differences == []
    assert migrated == defined
    assert (index, "CREATE UNIQUE INDEX") in [(name, sql[:19]) for name, sql in defined if sql]


def test_the_newest_revision_is_the_one_the_code_expects() -> None:
    """The head of each chain, by which start-up avoids Alembic, is the last file of its folder."""
    scripts_folder = Path(gateway.storage.migrations.__file__).parent
    for chain in (SESSIONS, MEMORIES):
        locations = [str(scripts_folder / chain.folder)]
        scripts = ScriptDirectory(str(scripts_folder), version_locations=locations)

        assert scripts.get_heads() == [chain.head]


OPEN_TURNS = """
    INSERT INTO sessions (id, owner, created_at, updated_at, head, epoch_from, told_memories) VALUES
        ('runs', 'ann', 1, 1, 7, 0, NULL),
        ('waits', 'ann', 1, 1, 4, 2, '{"text": "tea", "digests": {}, "epoch_from": 2, "named": []}'),
        ('moved', 'ann', 1, 1, 9, 0, NULL),
        ('idle', 'ann', 1, 1, 0, 0, NULL);
    INSERT INTO turns (id, session_id, owner, status, input, model, on_conflict, epoch, created_at, first_seq,
        last_seq, cancel_requested, iterations, parked_until) VALUES
        ('t1', 'runs', 'ann', 'done', 'hi', 'm', 'reject', 1, 1, 1, 3, 0, 1, NULL),
        ('t2', 'runs', 'ann', 'running', 'hi', 'm', 'reject', 3, 1, 4, 0, 0, 0, NULL),
        ('t3', 'runs', 'ann', 'accepted', 'hi', 'm', 'queue', 0, 1, 0, 0, 0, 0, NULL),
        ('t4', 'waits', 'ann', 'running', 'hi', 'm', 'reject', 1, 1, 1, 0, 0, 0, 99),
        ('t5', 'moved', 'ann', 'done', 'hi', 'm', 'reject', 1, 1, 1, 9, 0, 1, NULL);
    INSERT INTO messages (session_id, position, turn_id, role, content) VALUES
        ('runs', 1, 't1', 'user', '[]'), ('runs', 2, 't1', 'assistant', '[]');
    INSERT INTO session_archives VALUES
        ('moved', 1, 1, 9, 'e', 'x', '[]', 1, 5, 'm', 'x', '[]', 1);
"""
HEADS = (
    "SELECT session_id, head, position, turn_id, epoch, replica, parked_until FROM heads ORDER BY session_id"
)


@pytest.mark.anyio
async def test_open_turns_of_an_older_database_go_on(tmp_path: Path, anyio_backend: str) -> None:
    """One that ran is taken over, one that waits for a person waits on, one that is queued stays in the
    queue; the positions of messages go on behind those that were archived."""
    path = tmp_path / "gateway.db"
    upgrade(path, Chain("versions", "0005"))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(OPEN_TURNS)

    assert migrate(path) == ("0005", HEAD)

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(HEADS).fetchall() == [
            ("idle", 0, 0, None, 0, None, None),
            ("moved", 9, 5, None, 1, None, None),
            ("runs", 7, 2, "t2", 3, None, None),
            ("waits", 4, 0, "t4", 1, None, 99),
        ]
    async with await SqliteDatabase.open(path) as database:
        storage = storage_on(database)
        (taken,) = await left_open(storage)
        assert (taken.turn.id, taken.head, taken.turn.recoveries) == ("t2", 7, 2)
        assert (await storage.turns.get("waits", "t4", "ann")).status == "awaiting_approval"
        assert (await storage.turns.get("runs", "t3", "ann")).status == "accepted"
        assert (await storage.approvals.overdue(99, 9)) == ["t4"]
        memories = (await storage.sessions.history("waits")).memories
        assert memories is not None
        assert (memories.text, memories.generation_from) == ("tea", 2)


def test_events_of_an_older_database_are_packed(tmp_path: Path) -> None:
    """Byte for byte, in order, also where a turn that was cancelled has its events inside another turn's, and
    in packs of bounded size; an event that is no JSON is kept as it is."""
    path = tmp_path / "gateway.db"
    upgrade(path, Chain("versions", "0007"))
    rows = [
        ("s", seq, turn, "text", encode(seq, "text", 5, encode_scope("s", turn), b'{"text":"tea"}', 1))
        for seq, turn in enumerate(["t1"] * 3 + ["t2"] * 2 + ["t1"] * 2_000, 1)
    ] + [("odd", 1, "t3", "text", b"a\nb"), ("odd", 2, "t3", "done", b"\x01")]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", rows)

    assert migrate(path) == ("0007", HEAD)

    with closing(sqlite3.connect(path)) as connection:
        for session in ("s", "odd"):
            assert stored_events(connection, session) == [
                (seq, kind, turn, body) for name, seq, turn, kind, body in rows if name == session
            ]
        packs = connection.execute("SELECT first_seq, last_seq FROM event_packs WHERE session_id = 's'")
        assert packs.fetchall()[:3] == [(1, 3), (4, 5), (6, 5 + MAX_EVENTS)]


OLDER_MEMORIES = """
    INSERT INTO memories (
        id, user_id, audience, status, quarantined, source, type, owner_type, owner_id, pinned, updated_at,
        version, visibility, importance, confidence, evidence_count, created_at, last_used, digest, tags,
        summary, content, decisions, refs
    ) SELECT
        value->>'id', value->>'user_id', value->>'audience', 'active', 0, value->>'source', 'fact', 'user',
        'ann', 0, 1, 1, 'global', 3, 1.0, 0, 1, 7, value->>'digest', '[]',
        value->>'summary', value->>'content', '[]', '[]'
    FROM json_each(?)
"""


@pytest.mark.anyio
async def test_memories_of_an_older_database_are_found(tmp_path: Path, anyio_backend: str) -> None:
    """By their words as before; of a long one the passage that fits, though it was indexed as a whole. A
    document is stored again with its passages when its file is read, and is as fresh as it was."""
    path = tmp_path / "memory.db"
    upgrade(path, Chain("memory", "0002"))
    long = "Log of the ferry. " + "The crew counts the lifebelts. " * 90 + "The anchor weighs 40 kilos."
    rows = [
        memory("m_1", "Ann likes plum jam"),
        memory("m_2", long),
        document("d_1", "锚链每年换一次。" * 200, summary="锚链")[0],
    ]
    stored = [{**as_json(row), "audience": row.audience} for row in rows]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(OLDER_MEMORIES, (json.dumps(stored),))
        words = (
            (
                n,
                " ".join(
                    term for each in partitions_of(row) for term in PLAIN.made(each, tokens(row.content))
                ),
            )
            for n, row in enumerate(rows, 1)
        )
        connection.executemany("INSERT INTO memory_words (rowid, words) VALUES (?, ?)", words)
        vectors = [(number, "model", row.digest, b"") for number, row in enumerate(rows, 1)]
        connection.executemany("INSERT INTO memory_vectors VALUES (?, ?, ?, ?)", vectors)

    assert migrate_memories(path) == ("0002", MEMORY_HEAD)

    async with await SqliteMemoryDatabase.open(path) as database:
        store = MemoryStore(database)

        async def found(question: str) -> list[tuple[str, bool]]:
            hits = (await Searcher(store).find(ANN, MemoryQuery(question))).hits
            return [(hit.row.id, hit.passage is not None) for hit in hits]

        assert await found("plum jam") == [("m_1", False)]
        assert await found("what does the anchor weigh?") == [("m_2", True)]
        assert await found("锚链") == [("d_1", True)]
        missing = await store.missing_vectors(ANN, "model", limit=9)
        assert [row.id for row in missing] == ["m_2", "d_1"]
        await store.put_documents([(rows[2], indexed(rows[2]))])
        (again,) = await store.get(ANN, "d_1")
        assert (again.digest, again.last_used) == (rows[2].digest, 7)
        matches = await store.match(ANN, ["锚链"], Filter(), limit=9)
        assert [match.passage and match.passage.of for match in matches] == [len(passages(again.content))]


def test_memories_of_an_older_database_say_whose_word_they_are(tmp_path: Path) -> None:
    """What a model saved with the user's words as evidence is theirs; what waits stems from elsewhere."""
    path = tmp_path / "memory.db"
    upgrade(path, Chain(MEMORIES.folder, "0002"))
    kept = [  # source, quarantined, quotes; whose word it is
        ("user", 0, 0, "user"),
        ("conversation", 0, 1, "user"),
        ("import", 0, 0, "user"),
        ("model", 0, 2, "user"),
        ("model", 0, 0, "model"),
        ("model", 1, 0, "outside"),
        ("skill", 1, 0, "tool"),
        ("skill", 0, 0, "confirmed"),
        ("document", 0, 0, None),
    ]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            "INSERT INTO memories (id, user_id, audience, status, quarantined, source, type, owner_type,"
            " owner_id, pinned, updated_at, version, visibility, importance, confidence, evidence_count,"
            " created_at, last_used, digest, tags, summary, content, decisions, refs) VALUES (?, 'ann', 'a',"
            " 'active', ?, ?, 'fact', 'user', 'ann', 0, 1, 1, 'global', 3, 1, ?, 1, 1, ?, '[]', 's', 'c',"
            " '[]', '[]')",
            [
                (f"m_{at}", quarantined, source, quotes, f"d{at}")
                for at, (source, quarantined, quotes, _) in enumerate(kept)
            ],
        )

    assert migrate_memories(path) == ("0002", MEMORY_HEAD)

    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT origin, tools FROM memories ORDER BY number").fetchall()
    assert found == [(origin, "[]") for *_, origin in kept]


@BOTH
def test_migrating_again_changes_nothing(tmp_path: Path, bring: Migrate, head: str) -> None:
    """A database of today is left alone, and the folder is free again."""
    path = tmp_path / "100% data: one" / "some.db"
    bring(path)

    assert bring(path) == (head, head)
    assert schema_of(path).revision == head


def test_every_revision_says_which_versions_may_work_on_it() -> None:
    """Since databases keep it. A later one admits no version that one before it has shut out."""
    scripts_folder = Path(gateway.storage.migrations.__file__).parent
    for chain, first in ((SESSIONS, "0012"), (MEMORIES, "0006")):
        scripts = ScriptDirectory(
            str(scripts_folder), version_locations=[str(scripts_folder / chain.folder)]
        ).walk_revisions()
        since = {each.revision: vars(each.module).get("compatible_from") for each in scripts}
        said = {revision: since[revision] or "" for revision in sorted(since) if revision >= first}

        assert all(said.values()), said
        assert list(said.values()) == sorted(said.values()), said
        assert all(oldest <= revision for revision, oldest in said.items()), said


def test_a_revision_with_a_new_table_of_sessions_shuts_out_those_that_do_not_know_it(tmp_path: Path) -> None:
    """They would delete a session and leave its rows there."""
    path = tmp_path / "some.db"
    upgrade(path, SESSIONS._replace(head="0012"))
    known = tables_of_sessions(path)
    folder = Path(gateway.storage.migrations.__file__).parent / "versions"
    versions = sorted(path.name[:4] for path in folder.glob("0*.py"))
    for revision in versions[versions.index("0013") :]:
        upgrade(path, SESSIONS._replace(head=revision))
        found = tables_of_sessions(path)
        assert found <= known or schema_of(path).compatible_from == revision, found - known
        known = found


def tables_of_sessions(path: Path) -> set[str]:
    engine = create_engine(f"sqlite:///{path}")
    found = inspect(engine)
    named = found.get_table_names()
    columns = {table: {column["name"] for column in found.get_columns(table)} for table in named}
    engine.dispose()
    return {table for table in named if "session_id" in columns[table]}


def test_a_version_that_was_shut_out_stays_so(tmp_path: Path) -> None:
    """Also when a later revision admits it by mistake."""
    path = tmp_path / "some.db"
    other = newer(tmp_path, SESSIONS, is_compatible=False)
    later = newer(tmp_path, other)
    (script,) = Path(later.folder).glob(f"{later.head}_*.py")
    text = script.read_text()
    script.write_text(text.replace(f"compatible_from = '{other.head}'", f"compatible_from = '{HEAD}'"))
    assert script.read_text() != text

    upgrade(path, later)

    assert schema_of(path) == (later.head, other.head, __version__)


OPENS = pytest.mark.parametrize(
    ("chain", "opens"), [(SESSIONS, SqliteDatabase.open), (MEMORIES, SqliteMemoryDatabase.open)]
)
Opens = Callable[[Path], Coroutine[Any, Any, Any]]


@OPENS
def test_a_newer_database_that_has_only_more_is_used(
    tmp_path: Path, chain: Chain, opens: Opens, caplog: pytest.LogCaptureFixture
) -> None:
    """As after a version was taken back: the log says so, and the file stays as it is."""
    caplog.set_level(logging.WARNING, "gateway")  # whatever gateway ran before in this process
    path = tmp_path / "some.db"
    upgrade(path, newer(tmp_path, chain))
    found = schema_of(path)

    async def close() -> None:
        await (await opens(path)).close()

    asyncio.run(close())

    assert found == (next_revision(chain), chain.head, __version__)
    assert f"has the schema of a newer version ({chain.holds} {found.revision})" in caplog.text
    assert schema_of(path) == found


@OPENS
def test_a_newer_database_that_has_something_else_is_refused(
    tmp_path: Path, chain: Chain, opens: Opens
) -> None:
    """One clear message that names the file, the revision and the version that is needed, and the file is
    left as it was. So is one of which nobody knows what may use it."""
    path = tmp_path / "some.db"
    upgrade(path, newer(tmp_path, chain, is_compatible=False))
    found = schema_of(path)
    for said in (
        f"by version {__version__} of the gateway (revision {found.revision} of {chain.holds})",
        "by a newer version of the gateway (revision 9999 ",
    ):
        with pytest.raises(StorageError, match=re.escape(said)) as refused:
            asyncio.run(opens(path))
        assert refused.value.code == "database_too_new"
        assert schema_of(path) == found
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE alembic_version SET version_num = '9999', compatible_from = NULL")
            connection.execute("UPDATE alembic_version SET written_by = NULL")
        found = schema_of(path)


@BOTH
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, bring: Migrate, head: str) -> None:
    """Something else at the path is neither migrated nor overwritten."""
    path = tmp_path / "some.db"
    path.write_text("a letter to a friend, long enough to be taken for a page of a database" * 20)

    with pytest.raises(StorageError, match="cannot be read"):
        bring(path)

    assert path.read_text().startswith("a letter")


def test_a_file_that_another_process_makes_is_waited_for_and_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The memories may be opened by several at once: one after the other."""
    path = tmp_path / "memory.db"
    monkeypatch.setattr(data_folder_lock, "OPENING_WAIT", 0.0)
    with opening(path), pytest.raises(StorageError, match="Another process is making") as refused:
        migrate_memories(path)
    assert refused.value.retryable
    assert not path.exists()

    assert migrate_memories(path) == (None, MEMORY_HEAD)
