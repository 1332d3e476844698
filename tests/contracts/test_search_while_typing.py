"""What storage owes about finding sessions while one types, and about words that an earlier version
indexed."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import pytest
from sqlalchemy import Connection

from gateway.history import former_words
from gateway.history.former_words import WordsRenewal
from gateway.storage.sessions import MarkedText
from gateway.storage.sessions.former_words import FormerWords
from gateway.storage.sessions.search import mark_of
from gateway.storage.sessions.unindexed import TURN_BATCH
from tests.contracts.test_search import database_of, found
from tests.loopback import TIMEOUT
from tests.product import Storage, StorageError
from tests.storage.saying import add_turn
from tests.storage.writing import OWNER
from tests.waiting import until

pytestmark = pytest.mark.anyio

SAID = (
    "We moved PostgreSQL to Kubernetes: getUserById raised a TimeoutError, 用Python3写, at the café in "
    "Việt Nam, by the đường to İstanbul. مَرْحَبًا from 138-0013-8000 👍🏽, สวัสดีชาวโลก. 我的滑鼠和電腦"
)
TYPED = [
    "kuber",
    "kubernet",
    "postgres",
    "sql",
    "user",
    "timeout",
    "error",
    "python",
    "pyth",
    "cafe",
    "Viet",
    "duong",
    "istanbul",
    "مرحبا",
    "13800138000",
    "👍",
    "โลก",
    "滑",
    "鼠标",
    "电脑",
    "k8",
    "zebra",
]


async def test_a_turn_is_found_while_its_words_are_typed(storage: Storage) -> None:
    """By the beginning of the last word, parts of words, without accents, by numbers in groups and by
    signs."""
    await add_turn(storage, "s", "t", "q", SAID)
    await storage.search.index("s")

    assert [query for query in TYPED if await found(storage, query) != ["s"]] == ["k8", "zebra"]
    assert await found(storage, "timeou kuber") == []  # the first of them is not typed any more
    assert await found(storage, "postgresql kuber") == ["s"]
    assert await found(storage, "kuber ") == []
    assert await found(storage, "moved k") == ["s"]


@pytest.mark.parametrize(
    ("query", "marked"),
    [
        ("kuber", "We moved PostgreSQL to [Kubernetes]: getUserById"),
        ("user", "get[User]ById raised a"),
        ("cafe", "at the [café] in"),
        ("13800138000", "from [138-0013-8000]"),
        ("鼠标", "我的[滑鼠]和電腦"),
    ],
)
async def test_a_search_shows_what_was_typed_where_it_stands(
    storage: Storage, query: str, marked: str
) -> None:
    """A whole word where it begins so, the part of one that was looked for."""
    await add_turn(storage, "s", "t", "q", SAID)
    await storage.search.index("s")
    text = (await storage.search.where(OWNER, query, ["s"]))["s"].text

    assert marked in "".join(f"[{each.text}]" if each.hit else each.text for each in text or [MarkedText("")])


def make_former(connection: Connection, words: Mapping[str, Iterable[str]]) -> None:
    """Puts words as an earlier version made them in the place of what was indexed of these sessions' only
    turn."""
    mark, is_file = mark_of(OWNER), connection.dialect.name == "sqlite"
    for session_id, some in words.items():
        if is_file:
            run = connection.exec_driver_sql
            number = run(
                "SELECT number FROM search_sessions WHERE session_id = ?", (session_id,)
            ).scalar_one()
            run("DELETE FROM search_index WHERE rowid >> 24 = ?", (number,))
            row = (number << 24 | 1, " ".join([mark, *some]))
            run("INSERT INTO search_former (rowid, words) VALUES (?, ?)", row)
        else:
            connection.exec_driver_sql(
                "UPDATE search_words SET terms = NULL, words = %s WHERE session_id = %s AND turn > 0",
                ([mark, *some], session_id),
            )


async def test_words_of_an_earlier_version_are_found_until_they_are_made_anew(storage: Storage) -> None:
    """As they were: by whole words; and then by all. A session is found all the time."""
    texts = {"s1": "running to the café", "s2": "an old PostgreSQL", "s3": "nothing"}
    for name, text in texts.items():
        await add_turn(storage, name, f"t_{name}", "q", text)
    await storage.search.index(*texts)
    before = {"s1": ["run", "café"], "s2": ["old", "postgresql"]}
    await database_of(storage).write(lambda connection: make_former(connection, before))

    assert await found(storage, "café") == ["s1"]
    assert await found(storage, "running") == ["s1"]
    assert await found(storage, "postgresql") == ["s2"]
    assert await found(storage, "cafe") == []
    assert "".join(each.text for each in (await storage.search.where(OWNER, "café", ["s1"]))["s1"].text or ())
    words = storage.former_words
    assert await words.sessions(limit=1) == ["s1"]
    assert await words.sessions(after="s1", limit=9) == ["s2"]
    await words.renew("s1")
    assert await words.sessions(limit=9) == ["s2"]
    await words.renew("s2")
    await words.renew("gone")

    assert await words.sessions(limit=9) == []
    assert await found(storage, "cafe") == await found(storage, "runni") == ["s1"]
    assert await found(storage, "postgr") == ["s2"]
    assert await found(storage, "zebra") == []


async def test_a_long_session_is_made_anew_in_parts(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of some turns each; what comes meanwhile, and a title that is changed, stay as they are."""
    for number in range(TURN_BATCH + 5):
        await add_turn(storage, "s", f"t{number}", f"question{number}", f"answer{number} café")
    await storage.search.index("s")
    assert isinstance(storage.former_words, FormerWords)
    written = 0
    write = database_of(storage).write

    async def between(*given: object, **named: object) -> object:
        nonlocal written
        written += 1
        done = await write(*given, **named)  # pyright: ignore[reportArgumentType, reportCallIssue]
        if written == 1:
            monkeypatch.setattr(database_of(storage), "write", write)
            await storage.sessions.change("s", OWNER, 9, title="renamed")
            await add_turn(storage, "s", "late", "latecomer", "answer")
            await storage.search.index("s")
            monkeypatch.setattr(database_of(storage), "write", between)
        return done

    monkeypatch.setattr(database_of(storage), "write", between)
    await storage.former_words.renew("s")

    assert written >= 2
    for query in ("question0", f"question{TURN_BATCH}", f"answer{TURN_BATCH + 4} cafe", "renam", "latecom"):
        assert await found(storage, query) == ["s"], query
    where = (await storage.search.where(OWNER, "question54 cafe", ["s"]))["s"]
    assert where.turn_id == f"t{TURN_BATCH + 4}"


async def test_a_session_that_goes_meanwhile_leaves_no_words(storage: Storage) -> None:
    """Neither those that were there nor those that were made."""
    await add_turn(storage, "s", "t", "q", "zebra")
    await storage.search.index("s")
    await database_of(storage).write(lambda connection: make_former(connection, {"s": ["zebra"]}))
    assert await found(storage, "zebra") == ["s"]
    await storage.sessions.delete("s", OWNER)
    await storage.former_words.renew("s")

    await storage.sessions.create("s2", OWNER, None, 1)
    assert await found(storage, "zebra") == []


async def test_a_renewal_goes_on_after_the_database_has_failed(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what is left, a while later."""
    monkeypatch.setattr(former_words, "RETRY", 0.01)
    await add_turn(storage, "s", "t", "q", "café")
    await storage.search.index("s")
    await database_of(storage).write(lambda connection: make_former(connection, {"s": ["café"]}))
    words, failures = storage.former_words, [StorageError("no room")]

    class Failing:
        async def sessions(self, *, after: str = "", limit: int) -> Sequence[str]:
            return await words.sessions(after=after, limit=limit)

        async def renew(self, session_id: str, *, pause: float = 0) -> None:
            if failures:
                raise failures.pop()
            await words.renew(session_id, pause=pause)

    async def is_found() -> bool:
        return await found(storage, "cafe") == ["s"]

    task = asyncio.create_task(WordsRenewal(cast("FormerWords", Failing()), pause=0).run())
    await until(is_found, TIMEOUT)
    task.cancel()
    assert failures == []
