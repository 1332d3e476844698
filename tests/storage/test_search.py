"""The words of SQLite's index: two languages, two scripts, and what must not go wrong while it is written."""

import asyncio
import functools
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.lexical import indexed, tokens
from gateway.messages import clean_text
from gateway.storage.archives import ArchiveRow
from gateway.storage.messages import StoredMessage
from gateway.storage.sessions.search import QUERY_WORDS, Search, words_of_query
from gateway.storage.sqlite import SqliteDatabase
from gateway.storage.sqlite.session_search import Fts5TurnWords
from tests.product import Storage, storage_on
from tests.storage.saying import add_turn, archive
from tests.storage.writing import OWNER, sqlite_storage

pytestmark = pytest.mark.anyio

SAID = {
    "resume": "How do streams resume after the connection was lost?",
    "设计": "我喜欢简约的设计风格，尤其是北欧家具",
    "設計": "請把軟體的網路設定寫成文件",
    "cat": "我家的猫叫花生，今年三岁",
    "mixed": "把 PostgreSQL 的 WAL 日志恢复到昨天",
    "code": "def read_file(path: str): return open(path).read()  # ERR_4021",
    "deutsch": "Die Straße nach Köln ist gesperrt",
}


@pytest.fixture
async def library(storage: Storage) -> Storage:
    """One session for each of SAID, with its text in the answer."""
    for number, (name, text) in enumerate(SAID.items()):
        await add_turn(storage, name, f"t{number}", "q", text)
    await storage.search.index(*SAID)
    return storage


async def found(storage: Storage, query: str) -> list[str]:
    return [row.id for row in await storage.sessions.list(OWNER, limit=99, query=query)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("设计", "设计"),  # two characters
        ("风格", "设计"),
        ("設計風格", "设计"),  # traditional for simplified
        ("家具", "设计"),
        ("软件", "設計"),  # simplified for traditional, and Taiwan's word for it
        ("網絡", "設計"),
        ("猫", "cat"),  # one character
        ("貓", "cat"),
        ("花生", "cat"),
        ("我家的猫叫什么", None),  # 叫什 is not in it
        ("how do I resume", "resume"),  # words that only ask do not count
        ("postgresql 恢复", "mixed"),
        ("ＰｏｓｔｇｒｅＳＱＬ", "mixed"),  # full width
        ("resuming a stream", "resume"),  # inflection
        ("connections", "resume"),
        ("read_file", "code"),
        ("err_4021", "code"),
        ("4021", "code"),
        ("STRASSE", "deutsch"),
        ("Köln", "deutsch"),
        ("花生 风格", None),  # in two sessions
        ("计设", None),  # characters that do not stand side by side
        ("狗", None),
    ],
)
async def test_a_query_finds_the_session_that_speaks_of_it(
    library: Storage, query: str, expected: str | None
) -> None:
    """In either language and script, by words of any length, and nothing else."""
    assert await found(library, query) == ([expected] if expected else [])


async def test_a_query_can_be_of_titles_or_messages_alone_and_of_a_time(library: Storage) -> None:
    """A title is no message; times are those of the last use."""
    await library.sessions.create("named", OWNER, "设计", 1)
    ask = functools.partial(library.sessions.list, OWNER, limit=99, query="设计")

    assert {row.id for row in await ask()} == {"设计", "named"}
    assert [row.id for row in await ask(found_in="title")] == ["named"]
    assert [row.id for row in await ask(found_in="messages")] == ["设计"]
    (row,) = await ask(found_in="title")
    assert await ask(found_in="title", used=(row.updated_at, None)) == [row]
    assert await ask(found_in="title", used=(None, row.updated_at)) == []


@given(st.text(max_size=200))
def test_a_query_asks_for_no_word_that_its_own_text_lacks(text: str) -> None:
    """So whatever is searched for by its own words is found; words are bounded, and none needs quoting."""
    words, there = words_of_query(text), set(indexed(text))

    assert all(there & {*word.forms} for word in words)
    assert len(words) <= QUERY_WORDS
    assert bool(words) == bool(tokens(text))
    written = [each for word in words for each in (*word.forms, word.beginning or "", *word.parts)]
    assert not any(sign in each for each in written for sign in "\"'*:&|()\\ \x00")


@settings(max_examples=5)
@given(st.lists(st.text(min_size=1, max_size=60), min_size=10, max_size=30))
async def test_whatever_is_written_can_be_found(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    """A title of any characters is found by itself, and no text breaks the search."""
    async with sqlite_storage(tmp_path_factory.mktemp("any")) as storage:
        await storage.sessions.create("s", OWNER, None, 1)
        for text in texts:
            title = clean_text(text)
            await storage.sessions.change("s", OWNER, 1, title=title)

            assert await found(storage, title) == (["s"] if tokens(title) else [])


async def test_nothing_of_a_deleted_session_is_left_in_the_tables(tmp_path: Path) -> None:
    """Its rows are gone from the index and from its list of sessions; those of others stay."""
    async with sqlite_storage(tmp_path) as storage:
        for name in ("s", "other"):
            await add_turn(storage, name, f"t_{name}", f"about {name}", "An answer.")
        await storage.search.index("s", "other")
        await storage.sessions.delete("s", OWNER)

    with closing(sqlite3.connect(tmp_path / "gateway.db")) as connection:
        assert connection.execute("SELECT session_id FROM search_sessions").fetchall() == [("other",)]
        assert connection.execute("SELECT count(*) FROM search_index").fetchone() == (2,)
        connection.execute("INSERT INTO search_index (search_index) VALUES ('integrity-check')")


async def test_indexing_one_session_many_times_at_once_adds_each_turn_once(
    storage: Storage, tmp_path: Path
) -> None:
    """Whoever comes second finds the work done."""
    for number in range(3):
        await add_turn(storage, "s", f"t{number}", f"question{number}", f"answer{number}")

    await asyncio.gather(*(storage.search.index("s") for _ in range(5)))

    with closing(sqlite3.connect(tmp_path / "gateway.db")) as connection:
        assert connection.execute("SELECT count(*) FROM search_index").fetchone() == (4,)


async def test_what_changes_while_a_session_is_read_is_not_mixed_up(tmp_path: Path) -> None:
    """A session renamed meanwhile keeps its new title; one deleted and made anew gets nothing of the old."""
    async with await SqliteDatabase.open(tmp_path / "gateway.db") as database:
        storage = storage_on(database)

        async def renamed(row: ArchiveRow, *, after: int, until: int) -> Sequence[StoredMessage]:
            await storage.sessions.change("s", OWNER, 1, title="newer")
            return []

        async def remade(row: ArchiveRow, *, after: int, until: int) -> Sequence[StoredMessage]:
            await storage.sessions.delete("s", OWNER)
            await storage.sessions.create("s", "bob", None, 5)
            return []

        await add_turn(storage, "s", "t", "older", "An answer.")
        await archive(storage, "s")
        await Search(database, renamed, Fts5TurnWords()).index("s")
        assert await found(storage, "newer") == ["s"]
        await storage.sessions.delete("s", OWNER)

        await add_turn(storage, "s", "t", "older", "An answer.")
        await archive(storage, "s")
        await Search(database, remade, Fts5TurnWords()).index("s")
        assert await storage.sessions.list("bob", limit=9, query="older") == []
        assert await found(storage, "older") == []
