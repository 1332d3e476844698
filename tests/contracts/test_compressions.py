"""What storage owes about versions of a compressed history, and the prompt generations they begin."""

from dataclasses import replace

import pytest

from gateway.storage.log import Closing
from gateway.storage.messages import GENERATION_OPEN
from tests.product import Conflict, NotFound, Storage
from tests.storage.saying import add_version, archive, ask, positions, talk, tell, version
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio


# Versions


async def test_versions_are_kept_as_they_were_added(storage: Storage) -> None:
    """They are listed from the oldest, read one by one, numbered from 1, and are another session's never."""
    await talk(storage, 2)
    rows = [version(1, 1, 2), replace(version(2, 3, 4, parent=1, kept=3), usage=None, cost=None)]
    assert await storage.compressions.next_version("s") == 1
    for row in rows:
        await add_version(storage, row)

    assert await storage.compressions.list("s") == rows
    assert [await storage.compressions.get("s", row.version) for row in rows] == rows
    assert await storage.compressions.next_version("s") == 3
    assert await storage.compressions.list("other") == []
    for session_id, number in (("s", 3), ("other", 1)):
        with pytest.raises(NotFound) as refused:
            await storage.compressions.get(session_id, number)
        assert refused.value.code == "version_not_found"


async def test_a_version_whose_parent_is_not_in_force_is_refused(storage: Storage) -> None:
    """Of two that were made at once one is added, and the other leaves no trace."""
    await talk(storage, 3)
    await add_version(storage, version(1, 1, 2))

    for late in (version(2, 1, 4), version(1, 3, 4, parent=1), version(2, 3, 4, parent=7)):
        with pytest.raises(Conflict) as refused:
            await add_version(storage, late)
        assert refused.value.code == "compression_conflict"
    with pytest.raises(NotFound) as gone:
        await add_version(storage, version(1, 1, 2, session_id="nowhere"))
    assert gone.value.code == "session_not_found"
    assert await storage.compressions.list("s") == [version(1, 1, 2)]
    assert await positions(storage) == [3, 4, 5, 6]


async def test_a_version_whose_archive_may_be_gone_is_refused(storage: Storage) -> None:
    """However long the writing took: what no archive holds stays in the view."""
    await talk(storage, 2)
    row = version(1, 1, 2)
    await storage.orphans.suspect([row.archive_path], 1)
    assert await storage.orphans.condemn(row.archive_path, 2)  # as a sweep does before it removes the blob

    with pytest.raises(Conflict, match="took too long") as refused:
        await storage.compressions.add(row)

    assert (refused.value.code, refused.value.retryable) == ("compression_conflict", True)
    assert await storage.compressions.list("s") == []
    assert await storage.compressions.in_force("s") is None
    assert await positions(storage) == [1, 2, 3, 4]


async def test_an_undone_version_may_be_followed_by_another(storage: Storage) -> None:
    """Activation moves the pointer and nothing else: to another version, to none, and back."""
    await talk(storage, 3)
    await add_version(storage, version(1, 1, 2))
    await add_version(storage, version(2, 3, 4, parent=1))

    await storage.compressions.activate("s", 1)
    assert await positions(storage) == [3, 4, 5, 6]
    await add_version(storage, version(3, 3, 5, parent=1))
    assert await positions(storage) == [6]
    await storage.compressions.activate("s", None)
    assert await positions(storage) == [1, 2, 3, 4, 5, 6]
    await storage.compressions.activate("s", 2)
    assert await positions(storage) == [5, 6]
    assert [row.version for row in await storage.compressions.list("s")] == [1, 2, 3]
    for session_id, number, code in (("s", 4, "version_not_found"), ("nowhere", None, "session_not_found")):
        with pytest.raises(NotFound) as refused:
            await storage.compressions.activate(session_id, number)
        assert refused.value.code == code


async def test_failures_in_a_row_are_counted_until_one_succeeds(storage: Storage) -> None:
    """The count is told and kept with the history; a new version forgets it."""
    await talk(storage, 1)
    assert [await storage.compressions.failed("s") for _ in range(2)] == [1, 2]
    assert (await storage.sessions.history("s")).failed_compressions == 2

    await add_version(storage, version(1, 1, 2))

    assert (await storage.sessions.history("s")).failed_compressions == 0
    assert await storage.compressions.failed("nowhere") == 0


# Prompt generations


async def test_a_version_begins_an_epoch_after_the_last_message(storage: Storage) -> None:
    """Whether that message is a row or archived, and also when the pointer goes back; not when it stays."""
    await talk(storage, 2)
    await add_version(storage, version(1, 1, 2))
    assert (await storage.sessions.history("s")).generation_from == 4
    await archive(storage, "s")
    await storage.sessions.begin_generation("s", 0, instead_of=4)
    await storage.compressions.activate("s", 1)
    assert (await storage.sessions.history("s")).generation_from == 0
    await storage.compressions.activate("s", None)
    assert (await storage.sessions.history("s")).generation_from == 4


async def test_a_turn_that_did_not_ask_leaves_the_epoch_open(storage: Storage) -> None:
    """While a turn runs, a manual version and an activation leave it open, its own version does not."""
    await talk(storage, 2)
    await ask(storage, "s", "t3", "what else?")

    await add_version(storage, version(1, 1, 2, trigger="manual"))
    assert (await storage.sessions.history("s")).generation_from == GENERATION_OPEN
    await storage.sessions.begin_generation("s", 3, instead_of=0)
    assert (
        await storage.sessions.history("s")
    ).generation_from == GENERATION_OPEN  # a newer one began meanwhile
    await storage.sessions.begin_generation("s", 4, instead_of=GENERATION_OPEN)
    assert (await storage.sessions.history("s")).generation_from == 4
    await add_version(storage, version(2, 3, 4, parent=1, trigger="overflow"))
    assert (await storage.sessions.history("s")).generation_from == 5
    await storage.compressions.activate("s", 1)
    assert (await storage.sessions.history("s")).generation_from == GENERATION_OPEN


async def test_the_prefix_hash_is_that_of_the_last_turn_that_had_one(storage: Storage) -> None:
    """A turn that made no call keeps it; a new generation forgets it, and so does a view changed
    meanwhile."""

    async def turn(number: int, prefix_hash: str | None, *, compress: bool = False) -> str | None:
        writer = await ask(storage, "s", f"t{number}", "question")
        if compress:
            await add_version(storage, version(1, 1, 1, trigger="manual"))
        closing = Closing("completed", 1, None, None, 9, prefix_hash)
        await tell(writer, "done", closing=closing)
        return (await storage.sessions.history("s")).prefix_hash

    assert [await turn(1, None), await turn(2, "a"), await turn(3, None)] == [None, "a", "a"]
    assert await turn(4, "b") == "b"
    await storage.sessions.begin_generation("s", 4, instead_of=0)
    assert (await storage.sessions.history("s")).prefix_hash is None
    assert await turn(5, "c") == "c"
    assert await turn(6, "c", compress=True) is None
    await storage.sessions.begin_generation("s", 6, instead_of=GENERATION_OPEN)
    assert await turn(7, "d") == "d"


async def test_what_a_session_carries_is_fixed_once(storage: Storage) -> None:
    """What it was told of former sessions stays, whatever is tried later."""
    await storage.sessions.create("s", OWNER, None, 1)
    for text in ("总结 first", "second"):
        await storage.sessions.carry("s", text)

    assert (await storage.sessions.history("s")).carried == "总结 first"
    assert (await storage.sessions.history("s", whole=True)).carried == "总结 first"
