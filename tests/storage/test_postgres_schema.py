"""The tables of a PostgreSQL database are those that are defined, and are made by one process at a time."""

import importlib
import pkgutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import MetaData, create_engine

import gateway.storage
from gateway.storage import schema
from gateway.storage.database import Prepared
from gateway.storage.memories import schema as memory_schema
from gateway.storage.migrations import MEMORIES, SESSIONS, Chain
from gateway.storage.postgres import migrating
from gateway.storage.postgres.connections import ServerAddress
from gateway.storage.postgres.memory_words import PostingWords
from gateway.storage.postgres.migrating import check_revisions, migrate
from gateway.storage.postgres.moving import open_source, open_target
from tests.newer import newer
from tests.postgres import needs_postgres, new_database
from tests.product import StorageError

pytestmark = needs_postgres

TABLES = """
    SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
"""
COLUMNS = """
    SELECT attname, format_type(atttypid, atttypmod), attnotnull,
        CASE WHEN attcollation != 0 THEN attcollation::regcollation::text END,
        CASE WHEN attidentity = '' THEN pg_get_expr(adbin, adrelid) END
    FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attname
"""
INDEXES = "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = %s::regclass ORDER BY 1"
REFERENCES = """
    SELECT pg_get_constraintdef(oid) FROM pg_constraint
    WHERE conrelid = %s::regclass AND contype = 'f' ORDER BY 1
"""
BY_SESSION = "CREATE UNIQUE INDEX loose_events_pkey ON public.loose_events USING btree (session_id, seq)"
EMPTY = "template0"


def looked_at(connection: psycopg.Connection[Any], table: str) -> list[list[tuple[Any, ...]]]:
    parts = [connection.execute(query, (table,)).fetchall() for query in (COLUMNS, INDEXES, REFERENCES)]
    # A number that is counted up is an identity in migrations, a sequence where SQLAlchemy made it.
    parts[0] = [(*row[:-1], None if "nextval" in (row[-1] or "") else row[-1]) for row in parts[0]]
    return parts


@pytest.mark.parametrize("metadata", [schema.metadata, memory_schema.metadata], ids=["sessions", "memories"])
def test_the_migrated_tables_are_those_of_the_schema(metadata: MetaData) -> None:
    """Columns, types, defaults, indexes with their conditions, references, those of newer
    revisions too. Nothing of the sessions refers to another row by force, as in a file; loose events are
    found by their session."""
    defined = new_database(EMPTY)
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(defined))
    metadata.create_all(engine)
    engine.dispose()

    with psycopg.connect(defined) as expected, psycopg.connect(new_database()) as migrated:
        for table in metadata.tables:
            there, wanted = looked_at(migrated, table), looked_at(expected, table)
            wanted[0] = [(*row[:3], row[3] and '"C"', row[4]) for row in wanted[0]]
            if metadata is schema.metadata:
                wanted[2] = []
            if table == "loose_events":
                wanted[0] = [row for row in wanted[0] if row[0] != "number"]
                wanted[1] = [(BY_SESSION,)]
            assert there == wanted, table


def test_every_text_is_in_the_order_of_its_bytes() -> None:
    """Also in tables that only this engine has."""
    with psycopg.connect(new_database()) as connection:
        for (table,) in connection.execute(TABLES).fetchall():
            for name, _, _, collation, _ in connection.execute(COLUMNS, (table,)).fetchall():
                assert collation in (None, '"C"') or name == "version_num", (table, name)


def test_many_may_migrate_at_once() -> None:
    """A new database gets its tables once, whoever begins; later there is nothing left to do."""
    server = ServerAddress(new_database(EMPTY))
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(migrate, [server] * 4))

    befores = sorted([step.before or "" for step in steps] for steps in done)
    assert befores == [["", ""], *[[SESSIONS.head, MEMORIES.head]] * 3]


def test_a_newer_database_is_left_alone() -> None:
    """A revision that this version does not know."""
    url = new_database()
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE memory_version SET version_num = '9999', compatible_from = '9998'")
    with pytest.raises(StorageError) as raised:
        migrate(ServerAddress(url))
    assert raised.value.code == "database_too_new"


@pytest.mark.parametrize("chain", [SESSIONS, MEMORIES], ids=["sessions", "memories"])
def test_a_newer_database_that_has_only_more_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chain: Chain
) -> None:
    """`gateway migrate` of this version leaves it as it is; a move would lose what it has more."""
    server, name = ServerAddress(new_database()), "SESSIONS" if chain is SESSIONS else "MEMORIES"
    more = newer(tmp_path, chain)
    with monkeypatch.context() as patched:
        patched.setattr(migrating, name, more)
        assert (chain.head, more.head) in [(before, after) for _, before, after in migrate(server)]

    assert more.head in [after for _, _, after in migrate(server)]
    assert check_revisions(server) == {chain.holds: more.head}
    for opened in (open_source, open_target):
        with pytest.raises(StorageError, match="move it with that one"), opened(server.url, PostingWords()):
            pass


def test_a_table_that_is_in_use_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As that of a backup: what comes after is not held up for longer than an attempt."""
    url = new_database()
    more = newer(tmp_path, SESSIONS)
    monkeypatch.setattr(migrating, "SESSIONS", more)
    monkeypatch.setattr(migrating, "LOCK_WAIT", 0.1)
    monkeypatch.setattr(migrating, "PAUSE", 0.01)
    # A gateway that ran in this process may have set up logging in its own way.
    monkeypatch.setattr(migrating.log, "disabled", False)
    caplog.set_level("WARNING", migrating.log.name)
    with ThreadPoolExecutor(1) as pool:
        with psycopg.connect(url) as backup:
            backup.execute("SELECT count(*) FROM turns")
            migrated = pool.submit(migrate, ServerAddress(url))
            while "waits for a table" not in caplog.text:
                assert not migrated.done()
                time.sleep(0.01)
        assert more.head in [after for _, _, after in migrated.result()]


def test_a_deadlock_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server ends one of two that wait for each other's tables, and it may be the migration."""
    url = new_database()
    more = newer(tmp_path, SESSIONS)
    (script,) = Path(more.folder).glob(f"{more.head}_*.py")
    # A sequence counts on when a transaction is taken back.
    once = "IF nextval('attempts') = 1 THEN RAISE EXCEPTION USING ERRCODE = 'deadlock_detected'; END IF;"
    script.write_text(script.read_text() + f'    op.execute("DO $$ BEGIN {once} END $$")\n')
    monkeypatch.setattr(migrating, "SESSIONS", more)
    monkeypatch.setattr(migrating, "PAUSE", 0.01)
    with psycopg.connect(url) as connection:
        connection.execute("CREATE SEQUENCE attempts")

    assert more.head in [after for _, _, after in migrate(ServerAddress(url))]


def test_the_schema_that_the_address_names_is_used_by_all() -> None:
    """Its options are kept by what migrates and moves, as by what serves."""
    url = new_database(EMPTY)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA gw")
        server = ServerAddress(f"{url}?options=-csearch_path%3Dgw")
        migrate(server)
        assert connection.execute(TABLES).fetchall() == []
    assert check_revisions(server) == {}
    with open_source(server.url, PostingWords()) as source:
        assert source.has("sessions")


def statements() -> dict[str, Prepared]:
    """Every statement of the storage that is prepared, by where it stands."""
    found: dict[str, Prepared] = {}
    for package in pkgutil.walk_packages(gateway.storage.__path__, "gateway.storage."):
        if not any(part in package.name for part in (".migrations.", ".sqlite")):
            module = importlib.import_module(package.name)
            named = {name: value for name, value in vars(module).items() if isinstance(value, Prepared)}
            found |= {f"{package.name}.{name}": value for name, value in named.items()}
    return found


def test_every_statement_is_understood() -> None:
    """The server takes the text of each for the tables that there are."""
    engine = create_engine("postgresql+psycopg://", paramstyle="numeric_dollar")
    with psycopg.connect(new_database(), autocommit=True) as connection:
        found = statements()
        for number, (name, statement) in enumerate(found.items()):
            text = statement.statement.compile(dialect=engine.dialect)
            try:
                connection.execute(f"PREPARE s{number} AS {text}".encode())
            except psycopg.Error as error:
                pytest.fail(f"{name}: {error}")
    assert len(found) > 150
