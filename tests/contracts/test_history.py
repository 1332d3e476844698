"""What storage owes about a session's history: its messages, the versions of it, and its prompt
generations."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.storage.messages import History, StoredMessage
from gateway.storage.turns import NewTurn
from gateway.storage.turns.beginning import MAX_HISTORY_MESSAGES
from tests.product import ArchiveDamaged, Conflict, Message, Storage, Usage, text_block
from tests.storage.saying import (
    add_turn,
    add_version,
    archive,
    finish,
    positions,
    snapshot,
    summary,
    talk,
    version,
)
from tests.storage.writing import OWNER, Factory, accepted, running, sqlite_storage, writer_of

pytestmark = pytest.mark.anyio


# Messages


async def test_messages_are_read_from_one_position_to_another(storage: Storage) -> None:
    """`after` is excluded, `until` included; both may lie anywhere."""
    await talk(storage, 3)

    async def found(after: int, until: int | None) -> list[int]:
        return [each.position for each in await storage.sessions.messages("s", after=after, until=until)]

    assert await found(0, None) == [1, 2, 3, 4, 5, 6]
    assert await found(2, 4) == [3, 4]
    assert await found(5, 99) == [6]
    assert await found(4, 2) == await found(6, None) == []


async def test_archived_messages_are_read_as_if_they_had_never_moved(storage: Storage) -> None:
    """Whatever lies in archives, in the tables or across both: every range gives the very same messages."""
    await talk(storage, 2)
    await archive(storage, "s")
    await talk(storage, 2, first=3)
    await archive(storage, "s")
    await talk(storage, 1, first=5)

    everything = await storage.sessions.messages("s")

    assert [stored.position for stored in everything] == list(range(1, 11))
    assert [stored.turn_id for stored in everything] == [f"t{(at + 1) // 2}" for at in range(1, 11)]
    assert everything[5].message == Message("assistant", [text_block("answer 3")])
    for after in range(11):
        for until in range(11):
            assert await storage.sessions.messages("s", after=after, until=until) == everything[after:until]


async def test_an_archive_that_is_missing_is_named_and_the_rest_is_readable(storage: Storage) -> None:
    """What lies in it raises ArchiveDamaged; later messages, and a view that needs none of it, do not."""
    await talk(storage, 2)
    await archive(storage, "s")
    await talk(storage, 1, first=3)
    [row] = await storage.archives.list("s")
    await storage.blobs.delete(row.messages_path)

    for reading in (
        storage.sessions.messages("s"),
        storage.sessions.history("s"),
        snapshot(storage),
    ):
        with pytest.raises(ArchiveDamaged, match=row.messages_path):
            await reading
    assert [each.position for each in await storage.sessions.messages("s", after=4)] == [5, 6]
    await add_version(storage, version(1, 1, 4))
    assert await positions(storage) == [5, 6]


# The view


async def test_without_a_version_the_view_is_everything(storage: Storage) -> None:
    """All messages, no generation, nothing carried; nothing at all of a session that is not there."""
    await talk(storage, 2)
    history = await storage.sessions.history("s")

    assert history == History(await storage.sessions.messages("s"))
    assert await storage.sessions.history("nowhere") == History([])


async def test_a_version_stands_for_what_it_covers(storage: Storage) -> None:
    """The view is what comes after the version in force, and the one message it keeps; `whole` ignores it."""
    await talk(storage, 3)
    first = version(1, 1, 3, kept=3)
    await add_version(storage, first)
    kept = await storage.sessions.history("s")
    await add_version(storage, version(2, 4, 4, parent=1))

    assert [stored.position for stored in kept.messages] == [3, 4, 5, 6]
    assert kept.compression == first
    assert await positions(storage) == [5, 6]
    assert await positions(storage, whole=True) == [1, 2, 3, 4, 5, 6]
    assert (await storage.sessions.history("s", whole=True)).compression is None
    _, paged = await snapshot(storage)
    assert paged == await storage.sessions.history("s")
    _, whole = await snapshot(storage, whole=True)
    assert whole == await storage.sessions.history("s", whole=True)


async def test_a_kept_message_may_lie_in_an_archive(storage: Storage) -> None:
    """The view of a compressed session is the same before and after its rows were moved."""
    await talk(storage, 3)
    await add_version(storage, version(1, 1, 4, kept=3))
    before = await storage.sessions.history("s")
    await archive(storage, "s")

    assert await storage.sessions.history("s") == before
    assert [stored.position for stored in before.messages] == [3, 5, 6]


async def test_a_turn_that_is_accepted_has_the_history_before_it_at_hand(storage: Storage) -> None:
    """As it would be read, with the version in force; a new session's is empty, where its user has no summary
    that could be carried into it."""
    first = await accepted(storage, "s", "t0")
    assert first.history == History([])
    await finish(writer_of(storage, first), "an answer")
    await talk(storage, 3)
    await add_version(storage, version(1, 1, 3, kept=3))
    before = await storage.sessions.history("s")

    assert (await accepted(storage, "s", "t")).history == before

    await storage.summaries.save(summary("s", 9))
    assert (await accepted(storage, "new", "n1")).history is None
    assert (await accepted(storage, "others", "n2", owner="bo")).history == History([])


async def test_a_long_session_and_one_with_an_archive_are_read_by_their_turn(storage: Storage) -> None:
    """Others do not wait meanwhile for what they write."""
    await talk(storage, 2)
    await archive(storage, "s")
    assert (await accepted(storage, "s", "t")).history is None

    for number in range(MAX_HISTORY_MESSAGES // 2 + 1):
        await add_turn(storage, "long", f"l{number}", "question", "answer")
    assert (await accepted(storage, "long", "l")).history is None


@settings(max_examples=8)
@given(st.data())
async def test_covered_and_view_are_everything(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """However versions are chained and rows moved: what is covered and what is in view is what was said."""
    folder = tmp_path_factory.mktemp("chain")
    async with sqlite_storage(folder) as storage:
        covered, number, turns, moved = 0, 0, 0, 0
        for _ in range(data.draw(st.integers(1, 5))):
            more = data.draw(st.integers(1, 3))
            await talk(storage, more, first=turns + 1)
            turns += more
            last = data.draw(st.integers(covered, 2 * turns))
            if last > covered:
                await add_version(storage, version(number + 1, covered + 1, last, parent=number or None))
                number, covered = number + 1, last
            if data.draw(st.booleans()):
                await archive(storage, "s")
                moved += 1
        history = await storage.sessions.history("s")
        everything = await storage.sessions.messages("s")

        assert len(await storage.archives.list("s")) == moved
        assert [stored.position for stored in everything] == list(range(1, 2 * turns + 1))
        assert [*(await storage.sessions.messages("s", until=covered)), *history.messages] == everything


# All of it


async def test_the_history_survives_a_restart(factory: Factory, tmp_path: Path) -> None:
    """Versions, pointer, generation and what is carried are there when the storage is opened again."""
    async with factory(tmp_path) as first:
        await talk(first, 2)
        await first.sessions.carry("s", "carried")
        await add_version(first, version(1, 1, 3, kept=3))
        before = await first.sessions.history("s")

    async with factory(tmp_path) as second:
        assert await second.sessions.history("s") == before


async def test_a_session_made_by_its_first_turn_belongs_to_that_project(storage: Storage) -> None:
    """Project and role are fixed when the session is made: a later turn of another is refused."""
    first = NewTurn("t1", "s", OWNER, "hello", "model", None, "queue", True, 5, "garden")
    await storage.turns.accept(first, max_queued=9)
    await storage.turns.accept(replace(first, id="t2"), max_queued=9)
    for other in ({"project_id": "kitchen"}, {"role_id": "cook"}):
        with pytest.raises(Conflict, match="stays there"):
            await storage.turns.accept(replace(first, id="t3", **other), max_queued=9)

    assert (await storage.sessions.get("s", OWNER)).project_id == "garden"
    assert [row.project_id for row in await storage.sessions.list(OWNER, limit=9)] == ["garden"]


async def test_deleting_a_session_deletes_its_versions(storage: Storage) -> None:
    """A session of the same id begins with nothing."""
    await talk(storage, 1)
    await add_version(storage, version(1, 1, 2))
    await archive(storage, "s")
    await storage.sessions.delete("s", OWNER)
    await storage.sessions.create("s", OWNER, None, 1)

    assert await storage.sessions.history("s") == History([])
    assert await storage.compressions.list("s") == []
    assert await storage.archives.list("s") == []


async def test_a_message_says_its_usage_and_every_block_wherever_it_lies(storage: Storage) -> None:
    """Blocks with quotes, line ends and unknown fields come back untouched, from table and archive."""
    odd = {"type": "thinking", "thinking": '哼\n"', "signature": "c2ln==", "new": {"x": [1, None, 1.5]}}
    usage = Usage(input_tokens=1, output_tokens=2, cache_read_input_tokens=3)
    writer = await running(storage)
    body = b'{"v":1,"seq":1,"type":"iteration_end","turn_id":"t"}'
    await writer.append("iteration_end", body=body, message=Message("assistant", [odd]), usage=usage)
    await finish(writer)
    expected = [StoredMessage(1, "t", Message("assistant", [odd]), usage)]

    assert (await storage.sessions.history("s")).messages == expected
    await archive(storage, "s")
    assert (await storage.sessions.history("s")).messages == expected
