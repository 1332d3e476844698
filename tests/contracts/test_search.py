"""What storage owes about finding sessions by what was said in them."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from gateway.errors import SearchTooLong
from gateway.lexical import Sought, places
from gateway.storage.database import Database
from gateway.storage.postgres import postgres_database
from gateway.storage.sessions import MarkedText, search_excerpts
from gateway.storage.sessions.store import Sessions
from gateway.storage.sqlite import sqlite_file
from tests.loopback import TIMEOUT
from tests.product import Storage
from tests.storage.saying import add_turn, archive, ask, finish
from tests.storage.writing import OWNER, Factory, accepted, writer_of

pytestmark = pytest.mark.anyio


def database_of(storage: Storage) -> Database:
    """Of either engine."""
    assert isinstance(storage.sessions, Sessions)
    return storage.sessions.database


async def found(storage: Storage, query: str, owner: str = OWNER) -> list[str]:
    return [row.id for row in await storage.sessions.list(owner, limit=99, query=query)]


async def test_a_turn_is_found_by_what_was_asked_and_answered(storage: Storage) -> None:
    """Once its session is indexed: by words of the user, of any of the answers, or of both together."""
    await add_turn(storage, "s", "t", "如何恢复会话", "Read the log from its cursor.", "第二个回答")
    assert await found(storage, "恢复") == []

    await storage.search.index("s")

    for query in ("恢复", "cursor", "回答", "cursor 恢复 log"):
        assert await found(storage, query) == ["s"]
    assert await found(storage, "cursor missing") == []


async def test_all_words_must_be_in_one_turn_or_in_the_title(storage: Storage) -> None:
    """Words of different turns, or of a turn and the title, do not make a hit together."""
    await storage.sessions.create("s", OWNER, "gardening", 1)
    await add_turn(storage, "s", "t1", "tell me about apples", "They are sweet.")
    await add_turn(storage, "s", "t2", "and lemons", "They are sour.")
    await storage.search.index("s")

    assert await found(storage, "sweet apples") == ["s"]
    assert await found(storage, "sour lemons") == ["s"]
    assert await found(storage, "sour apples") == []
    assert await found(storage, "gardening") == ["s"]
    assert await found(storage, "gardening apples") == []


async def test_titles_are_found_at_once(storage: Storage) -> None:
    """A given title when the session is made, a new one when it is renamed, and then the old one no more."""
    await storage.sessions.create("s", OWNER, "Harvest plans", 1)
    assert await found(storage, "harvest") == ["s"]

    await storage.sessions.change("s", OWNER, 1, title="冬天的计划")

    assert await found(storage, "harvest") == []
    assert await found(storage, "冬天") == ["s"]
    await add_turn(storage, "s", "t", "hello", "Good day.")
    await storage.search.index("s")
    assert await found(storage, "冬天") == await found(storage, "good day") == ["s"]


async def where(storage: Storage, query: str, *session_ids: str) -> dict[str, tuple[str, str, str]]:
    """Title, turn and text of what was found in each session, with what was looked for in brackets."""
    found = await storage.search.where(OWNER, query, session_ids or ("s",))

    def shown(pieces: Sequence[MarkedText] | None) -> str:
        return "".join(f"[{piece.text}]" if piece.hit else piece.text for piece in pieces or ())

    return {name: (shown(each.title), each.turn_id or "", shown(each.text)) for name, each in found.items()}


@pytest.mark.parametrize(
    ("query", "turn", "text"),
    [
        ("APPLE", "t1", "How do [apples] grow, and 苹果是怎么长的？"),
        ("蘋果", "t1", "How do apples grow, and [苹果]是怎么长的？"),
        ("growing 苹果", "t1", "How do apples [grow], and [苹果]是怎么长的？"),
        ("trees", "t2", "On [trees], in a garden."),
        ("花园", "t3", "在[花園]裡，每年春天。"),
        ("ｆｕｌｌ ｗｉｄｔｈ", "t4", "[Ｆｕｌｌ]，[ｗｉｄｔｈ]！"),
        ("straße café", "t5", "[STRASSE], [café]"),
        ("product", "t6", "The [product] a*b is 391, see the page and x 2 * 3"),
    ],
)
async def test_a_search_tells_where_the_words_stand(
    storage: Storage, query: str, turn: str, text: str
) -> None:
    """In the user's message or an answer, as written but for marks of Markdown, whatever the inflection
    and the script."""
    await add_turn(storage, "s", "t1", "How do apples grow, and 苹果是怎么长的？", "Slowly.")
    await add_turn(storage, "s", "t2", "Where?", "On trees, in a garden.")
    await add_turn(storage, "s", "t3", "哪里？", "在花園裡，每年春天。")
    await add_turn(storage, "s", "t4", "Ｆｕｌｌ，ｗｉｄｔｈ！")
    await add_turn(storage, "s", "t5", "STRASSE, café")
    marks = "## The product\n`a*b` is **391**, *see* [the page](docs/a.md#b)\n| and | x |\n|---|---|\n- 2 * 3"
    await add_turn(storage, "s", "t6", "Sum?", marks)
    await storage.search.index("s")

    assert (await where(storage, query))["s"][1:] == (turn, text)


async def test_a_search_tells_the_newest_turn_and_the_words_of_the_title(storage: Storage) -> None:
    """Of several turns the newest; where the words are in the title alone, no turn."""
    await storage.sessions.create("s", OWNER, "Garden plans", 1)
    for number in (1, 2, 3):
        await add_turn(storage, "s", f"t{number}", f"garden {number}", "Yes.")
    await storage.sessions.create("title", OWNER, "My gardens", 1)
    await storage.search.index("s", "title")

    assert await where(storage, "garden", "s", "title", "gone") == {
        "s": ("[Garden] plans", "t3", "[garden] 3"),
        "title": ("My [gardens]", "", ""),
    }
    assert await where(storage, "garden 2") == {"s": ("[Garden] plans", "t2", "[garden] [2]")}


async def test_a_search_shows_a_short_part_around_most_of_the_words(storage: Storage) -> None:
    """A long text is cut at blanks, around the place where the words stand together."""
    filler = "Nothing is said here about it. " * 40
    await add_turn(storage, "s", "t", "well?", f"{filler} a lemon. {filler} a lemon tree. {filler}")
    await storage.search.index("s")

    [(_, _, text)] = (await where(storage, "lemon tree")).values()
    assert "a [lemon] [tree]. Nothing" in text
    assert text.startswith("… ")
    assert text.endswith(" …")
    assert len(text) < 180


async def test_a_search_tells_where_words_stand_in_archives(storage: Storage) -> None:
    """What was moved to a blob is read there; of a damaged one what the user said is told."""
    for name in ("whole", "damaged"):
        await add_turn(storage, name, f"t_{name}", "long ago", "We talked about whales.")
        await archive(storage, name)
    await storage.search.index("whole", "damaged")
    [row] = await storage.archives.list("damaged")
    await storage.blobs.delete(row.messages_path)

    assert await where(storage, "ago whales", "whole", "damaged") == {
        "whole": ("long [ago]", "t_whole", "long [ago]"),
        "damaged": ("long [ago]", "t_damaged", "long [ago]"),
    }
    assert await where(storage, "whales", "whole", "damaged") == {
        "whole": ("", "t_whole", "We talked about [whales]."),
        "damaged": ("", "t_damaged", ""),
    }


async def test_a_search_tells_nothing_of_what_is_somebody_elses(storage: Storage) -> None:
    """Whatever ids are asked for."""
    await add_turn(storage, "s", "t", "a secret", "Between us.", owner="bob")
    await storage.search.index("s")

    assert await where(storage, "secret") == {}


async def test_a_title_taken_from_a_message_gives_way_to_another(storage: Storage) -> None:
    """Renaming removes the words of the title, never those of the turn it was taken from."""
    await add_turn(storage, "s", "t", "unforgettable", "I see.")
    await storage.search.index("s")
    await storage.sessions.change("s", OWNER, 1, title="something else")
    await storage.search.index("s")

    assert await found(storage, "unforgettable") == ["s"]
    assert await found(storage, "something else") == ["s"]


async def test_a_deleted_session_is_not_found(storage: Storage) -> None:
    """Neither it nor, under its id, the session that somebody makes later; nor by indexing it again."""
    await add_turn(storage, "s", "t", "a secret", "Between us.")
    await storage.search.index("s")
    await storage.sessions.delete("s", OWNER)
    await storage.search.index("s")
    assert await found(storage, "secret") == []

    await storage.sessions.create("s", "bob", "mine", 1)
    await storage.search.index("s")
    assert await found(storage, "secret", "bob") == await found(storage, "us", "bob") == []
    assert await found(storage, "mine", "bob") == ["s"]


async def test_nobody_finds_what_somebody_else_said(storage: Storage) -> None:
    """Each owner searches their own sessions, whatever their name is."""
    owners = ["ann", "bob", 'o"r AND', "", "安"]
    for number, owner in enumerate(owners):
        await add_turn(storage, f"s{number}", f"t{number}", "the same words", "For all.", owner=owner)
    await storage.search.index(*(f"s{number}" for number in range(len(owners))))

    for number, owner in enumerate(owners):
        assert await found(storage, "same words", owner) == [f"s{number}"]
    assert await found(storage, "same words", "eve") == []


async def test_hits_come_newest_first_page_by_page(storage: Storage) -> None:
    """Pages of a search follow (updated_at, id) downwards as those of the whole list do."""
    for number in range(7):
        await storage.sessions.create(f"s{number}", OWNER, "odd" if number % 2 else "even", at=number // 3)
    pages: list[str] = []
    before: tuple[int, str] | None = None
    while page := await storage.sessions.list(OWNER, limit=2, before=before, query="even"):
        pages += [row.id for row in page]
        before = (page[-1].updated_at, page[-1].id)

    assert pages == ["s6", "s4", "s2", "s0"]


@pytest.mark.parametrize("query", ["", " ", "%", "!!!", '"', "—"])
async def test_a_query_without_words_finds_nothing(storage: Storage, query: str) -> None:
    """Signs alone are no question."""
    await storage.sessions.create("s", OWNER, "anything 100%", 1)

    assert await found(storage, query) == []


@pytest.mark.parametrize(
    "query",
    [
        '"',
        'apples"',
        "apples OR",
        "apples AND",
        "NOT",
        "NEAR(apples, 2)",
        "words:apples",
        "-apples",
        "*",
        "^a",
    ],
)
async def test_a_query_is_never_read_as_an_expression(storage: Storage, query: str) -> None:
    """The signs and words of a search language mean themselves: no error, and never the rest of the table."""
    await storage.sessions.create("s", OWNER, "pears", 1)

    assert await found(storage, query) == []
    await storage.sessions.change("s", OWNER, 1, title=f"x {query} y")
    assert await found(storage, f"x {query} y") == ["s"]


async def test_archived_sessions_are_found(storage: Storage) -> None:
    """Those indexed before their rows were moved, and those that are indexed afterwards."""
    for name in ("before", "after"):
        await add_turn(storage, name, f"t_{name}", "long ago", "We talked about 鲸鱼.")
    await storage.search.index("before")
    for name in ("before", "after"):
        await archive(storage, name)
    await storage.search.index("before", "after")

    assert sorted(await found(storage, "鲸鱼")) == ["after", "before"]


async def test_a_damaged_archive_costs_only_the_answers_in_it(storage: Storage) -> None:
    """What the user said, and later turns, are found all the same; and the session is not due for ever."""
    await add_turn(storage, "s", "t1", "an old question", "a lost answer")
    await archive(storage, "s")
    [row] = await storage.archives.list("s")
    await storage.blobs.delete(row.messages_path)
    await add_turn(storage, "s", "t2", "a new question", "a fresh answer")

    await storage.search.index("s")

    assert await found(storage, "old question") == ["s"]
    assert await found(storage, "fresh answer") == ["s"]
    assert await found(storage, "lost") == []
    assert await storage.search.due(limit=9) == []


async def test_indexing_goes_on_where_it_stopped(storage: Storage) -> None:
    """Turn by turn, with turns that run meanwhile, that overtook each other, or by the hundred."""
    for number in range(120):
        await add_turn(storage, "s", f"t{number}", f"question{number}", f"answer{number}", f"more{number}")
        if number in {0, 7}:
            await storage.search.index("s")
    running = await ask(storage, "s", "last", "unfinished")
    await storage.search.index("s")
    for number in range(120):
        assert await found(storage, f"question{number} answer{number} more{number}") == ["s"]
    assert await found(storage, "unfinished") == []

    await finish(running, "done at last")
    await storage.search.index("s")
    assert await found(storage, "unfinished done last") == ["s"]


async def test_turns_that_overtook_others_are_indexed_once_each(storage: Storage) -> None:
    """A turn that waited is found with its own answer, in whatever order turns ran."""
    first = await ask(storage, "s", "t1", "first")
    await accepted(storage, "s", "t2", text="queued", on_conflict="queue")
    await accepted(storage, "s", "t3", text="urgent", on_conflict="interrupt")
    await finish(first, "one")
    await storage.search.index("s")
    for expected, answer in (("t3", "three"), ("t2", "two")):
        now = await storage.turns.claim_next("s")
        assert now is not None
        assert now.turn.id == expected
        await finish(writer_of(storage, now), answer)
        await storage.search.index("s")

    for query in ("first one", "urgent three", "queued two"):
        assert await found(storage, query) == ["s"]
    assert await found(storage, "queued three") == []


async def test_due_are_sessions_with_something_that_cannot_be_found(storage: Storage) -> None:
    """In the order of their ids, page by page, without those whose turn still runs."""
    for name in ("c", "a", "b", "done"):
        await add_turn(storage, name, f"t_{name}", "question", "answer")
    await storage.sessions.create("empty", OWNER, None, 1)
    await storage.search.index("done", "empty", "nowhere")
    writer = await ask(storage, "b", "t_b_2", "more")

    assert await storage.search.due(limit=9) == ["a", "c"]
    assert await storage.search.due(limit=1) == ["a"]
    assert await storage.search.due(after="a", limit=9) == ["c"]
    await finish(writer)
    assert await storage.search.due(limit=9) == ["a", "b", "c"]
    await storage.search.index("a", "b", "c")
    assert await storage.search.due(limit=9) == []


async def test_the_index_survives_a_restart(factory: Factory, tmp_path: Path) -> None:
    """What was indexed is found when the storage is opened again, what was not is due."""
    async with factory(tmp_path) as first:
        await add_turn(first, "s1", "t1", "question", "answer one")
        await first.search.index("s1")
        await add_turn(first, "s2", "t2", "question", "answer two")

    async with factory(tmp_path) as second:
        assert await found(second, "answer") == ["s1"]
        assert await second.search.due(limit=9) == ["s2"]


async def test_nothing_waits_behind_searches(storage: Storage) -> None:
    """However many of them there are, and however long they take: they have connections of their own."""
    database, go_on = database_of(storage), threading.Event()
    searches = [asyncio.create_task(database.search(lambda _: go_on.wait(TIMEOUT))) for _ in range(10)]
    try:
        assert await asyncio.wait_for(database.read(lambda _: "read"), TIMEOUT) == "read"
        assert await asyncio.wait_for(database.write(lambda _: "written"), TIMEOUT) == "written"
        assert not any(search.done() for search in searches)
    finally:
        go_on.set()
    assert all(await asyncio.gather(*searches))


async def test_a_search_that_takes_too_long_is_given_up(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In words that say what to do; the next one works."""
    for module in (sqlite_file, postgres_database):
        monkeypatch.setattr(module, "SEARCH_TIME", 0.1)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    database = database_of(storage)

    with pytest.raises(SearchTooLong, match="rarer ones") as refused:
        await database.search(lambda connection: connection.exec_driver_sql(endless).all())

    assert refused.value.code == "search_too_long"
    assert await database.search(lambda connection: connection.exec_driver_sql("SELECT 1").scalar()) == 1
    await add_turn(storage, "s", "t", "hello", "Good day.")
    await storage.search.index("s")
    assert await found(storage, "hello") == ["s"]


async def test_of_long_messages_only_what_surrounds_the_words_is_read(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often they are in it; the excerpt is that of the first place."""
    read: list[int] = []

    def counted(text: str, words: Sequence[Sought]) -> list[tuple[int, int, int]]:
        read.append(len(text))
        return places(text, words)

    monkeypatch.setattr(search_excerpts, "places", counted)
    await add_turn(storage, "s", "t", f"{'filler ' * 2000} a common word {'common ' * 60_000}", "Yes.")
    await storage.search.index("s")

    assert "filler a [common] word [common]" in (await where(storage, "common"))["s"][2]
    assert sum(read) <= 3 * search_excerpts.MAX_READ
