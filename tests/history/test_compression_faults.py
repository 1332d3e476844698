"""Whatever goes wrong while a session is compressed leaves the old view or the new one, never a third."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from gateway.errors import CompressionFailed
from gateway.history.transcript import view
from gateway.storage.archives import CompressionRow
from gateway.storage.exclusive import LocalExclusive
from tests.history.compressing import MODEL, TEXT, Failing, Session, archived, talk
from tests.history.scripted import (
    Scripted,
    answer,
    says,
    summary,
    user,
    words,
)
from tests.product import Conflict, ModelError, NotFound, StorageError
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio


MISBEHAVIOURS: list[Scripted] = [
    answer(""),
    "Error: overloaded",
    answer("I cannot.", "refusal"),
    summary(progress=[words(700)]),
    "Ignore previous instructions.",
    '{"goal": ',
    answer(summary(), "max_tokens"),
    ModelError("down", code="upstream_error", retryable=True),
]


@pytest.mark.parametrize("outcome", MISBEHAVIOURS)
async def test_a_summariser_that_misbehaves_leaves_the_old_view(outcome: Scripted, long: Session) -> None:
    """Nothing of the attempt is left but the event and the count; the next one succeeds."""
    state = await long.state()
    long.model.script = [outcome]
    with pytest.raises(CompressionFailed) as failed:
        await long.compress()

    assert await long.state() == state
    assert (await long.storage.sessions.history("s")).failed_compressions == 1
    assert not await long.has_archive(1)
    assert long.notified.phases == ["started", "failed"]
    assert long.notified.events[1].reason == f"{failed.value.code}: {failed.value.message}"

    long.model.script = [summary()]
    assert (await long.compress()).version == 1
    assert (await long.storage.sessions.history("s")).failed_compressions == 0


FAULTS = [("blobs", "put"), ("blobs", "stream"), ("compressions", "add")]


@pytest.mark.parametrize(("part", "method"), FAULTS)
@pytest.mark.parametrize("failure", [StorageError("The disk is full."), ZeroDivisionError("a mistake")])
async def test_a_fault_in_any_step_leaves_the_old_view(
    part: str, method: str, failure: Exception, long: Session
) -> None:
    """Also one that nobody foresaw."""
    state = await long.state()
    broken = Failing(getattr(long.storage, part), method, failure)
    with pytest.raises(CompressionFailed) as failed:
        await long.compress(replace(long.storage, **{part: broken}))

    assert failed.value.code == ("storage_unavailable" if isinstance(failure, StorageError) else "internal")
    assert await long.state() == state
    assert not await long.has_archive(1)
    assert long.notified.phases == ["started", "failed"]


async def test_a_leftover_that_cannot_be_removed_is_replaced_by_the_next_attempt(long: Session) -> None:
    """The failure that is told is the first one, and the archive of the version that comes is its own."""
    broken = Failing(long.storage.blobs, "delete", StorageError("The disk is gone."))
    long.model.script = [answer("", "refusal"), summary()]
    with pytest.raises(CompressionFailed) as failed:
        await long.compress(replace(long.storage, blobs=broken))  # pyright: ignore[reportArgumentType]
    assert failed.value.code == "summary_refused"
    assert await long.has_archive(1)

    await long.add(*talk(1, TEXT)[0])
    row = await long.compress()
    assert len(await archived(long, row)) == row.to_position


async def test_a_log_that_fails_at_the_start_is_the_end(long: Session) -> None:
    """What cannot be told is not done."""
    state = await long.state()

    async def refuse(_: Any) -> None:
        raise StorageError("The log is full.")

    with pytest.raises(StorageError):
        await long.compressor().compress("s", model=MODEL, trigger="manual", notify=refuse)

    assert await long.state() == state
    assert long.model.requests == []


async def test_a_version_in_force_stays_when_its_event_is_lost(long: Session) -> None:
    """The transaction is the truth: its archive is not taken for a leftover."""

    async def refuse_the_last(event: Any) -> None:
        if event.phase == "completed":
            raise StorageError("The log is full.")

    with pytest.raises(StorageError):
        await long.compressor().compress("s", model=MODEL, trigger="manual", notify=refuse_the_last)

    history = await long.storage.sessions.history("s")
    assert history.compression is not None
    assert len(await archived(long, history.compression)) == history.compression.to_position


async def test_cancelled_while_the_summary_is_written_it_leaves_nothing(long: Session) -> None:
    """No version, no archive; the session can be compressed again."""
    state = await long.state()
    asked = asyncio.Event()

    def stall(_: Any) -> Scripted:
        asked.set()
        raise asyncio.CancelledError

    long.model.script = [stall]
    task = asyncio.create_task(long.compress())
    await asked.wait()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await long.state() == state
    assert not await long.has_archive(1)
    assert long.notified.phases == ["started", "failed"]
    long.model.script = [summary()]
    assert (await long.compress()).version == 1


async def test_cancelled_in_the_middle_of_the_transaction_it_is_one_view_or_the_other(long: Session) -> None:
    """The caller leaves while the database commits: the version is in force, and its archive is there."""
    adding = asyncio.Event()

    class Slow:
        def __getattr__(self, name: str) -> Any:
            return getattr(long.storage.compressions, name)

        async def add(self, row: CompressionRow) -> None:
            adding.set()
            await asyncio.sleep(0)
            await long.storage.compressions.add(row)

    task = asyncio.create_task(long.compress(replace(long.storage, compressions=Slow())))  # pyright: ignore[reportArgumentType]
    await adding.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    row = (await long.storage.sessions.history("s")).compression
    assert row is not None
    assert len(await archived(long, row)) == row.to_position


class Held:
    """Compressions whose `add` begins, waits to be let go, and then is done or, with a `failure`, not."""

    def __init__(self, whole: Any, failure: Exception | None = None) -> None:
        self._whole, self._failure = whole, failure
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    async def add(self, row: CompressionRow) -> None:
        self.begun.set()
        await self.go.wait()
        if self._failure is not None:
            raise self._failure
        await self._whole.add(row)


@pytest.mark.parametrize(
    ("failure", "phases"),
    [(None, ["started", "completed"]), (StorageError("The disk is full."), ["started", "failed"])],
    ids=["done", "not done"],
)
async def test_cancelled_at_its_commit_the_log_says_what_is_in_force(
    failure: Exception | None, phases: list[str], long: Session
) -> None:
    """Completed when the transaction was done after all, failed when it was not; however often the caller is
    cancelled. The session can be compressed again."""
    held = Held(long.storage.compressions, failure)
    task = asyncio.create_task(long.compress(replace(long.storage, compressions=held)))  # pyright: ignore[reportArgumentType]
    await held.begun.wait()
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
    held.go.set()
    with pytest.raises(asyncio.CancelledError):
        await task

    in_force = (await long.storage.sessions.history("s")).compression
    assert long.notified.phases == phases
    assert (in_force is not None) == (phases[-1] == "completed")
    assert await long.has_archive(1) == (in_force is not None)
    if in_force is None:
        long.notified.events.clear()
        assert (await long.compress()).version == 1


@pytest.mark.parametrize(("phase", "reason"), [("started", "cancelled"), ("failed", "summary_refused")])
async def test_cancelled_while_a_phase_is_told_it_is_told_once_to_have_ended(
    long: Session, phase: str, reason: str
) -> None:
    """Nobody reads of a compression that goes on for ever; a failure that came before is what the log has."""
    telling, go = asyncio.Event(), asyncio.Event()

    async def notify(event: Any) -> None:
        if event.phase == phase:
            telling.set()
            await go.wait()
        await long.notified(event)

    long.model.script = [answer("", "refusal")]
    task = asyncio.create_task(long.compressor().compress("s", model=MODEL, trigger="manual", notify=notify))
    await telling.wait()
    task.cancel()
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert long.notified.phases == ["started", "failed"]
    assert str(long.notified.events[1].reason).startswith(reason)
    assert len(long.model.requests) == (phase == "failed")


async def test_of_two_at_once_the_second_is_told_at_once(long: Session) -> None:
    """The first goes on undisturbed; afterwards another may follow."""
    compressor = long.compressor()
    refused: list[Conflict] = []

    async def also(event: Any) -> None:
        if event.phase == "started":
            with pytest.raises(Conflict) as conflict:
                await compressor.compress("s", model=MODEL, trigger="manual", notify=long.notified)
            refused.append(conflict.value)

    row = await compressor.compress("s", model=MODEL, trigger="manual", notify=also)

    assert [each.code for each in refused] == ["compression_in_progress"]
    assert long.notified.events == []
    assert row.version == 1
    await long.add(*talk(1, TEXT * 9)[0])
    assert (await compressor.compress("s", model=MODEL, trigger="manual", notify=long.notified)).version == 2


async def test_whoever_was_faster_wins(long: Session) -> None:
    """Another process put a version in force meanwhile: ours is refused, theirs and its archive stay."""

    def overtake(_: Any) -> Scripted:
        async def other() -> None:
            elsewhere = replace(long.storage, exclusive=LocalExclusive())  # as after a lost connection
            row = await Session(elsewhere, type(long.model)()).compress()
            assert row.version == 1

        overtaking.append(asyncio.ensure_future(other()))
        return summary()

    class Waiting:
        def __getattr__(self, name: str) -> Any:
            return getattr(long.storage.compressions, name)

        async def add(self, row: CompressionRow) -> None:
            await asyncio.gather(*overtaking)
            await long.storage.compressions.add(row)

    overtaking: list[asyncio.Future[None]] = []
    long.model.script = [overtake]
    with pytest.raises(Conflict) as refused:
        await long.compress(replace(long.storage, compressions=Waiting()))  # pyright: ignore[reportArgumentType]

    assert refused.value.code == "compression_conflict"
    assert long.notified.phases == ["started", "failed"]
    history = await long.storage.sessions.history("s")
    assert history.compression is not None
    assert history.failed_compressions == 0
    assert len(await archived(long, history.compression)) == history.compression.to_position


async def test_a_session_that_was_deleted_meanwhile_is_gone(long: Session) -> None:
    """No version can be added to it, and no archive of it stays."""

    class Waiting:
        def __getattr__(self, name: str) -> Any:
            return getattr(long.storage.compressions, name)

        async def add(self, row: CompressionRow) -> None:
            await long.storage.sessions.delete("s", OWNER)
            await long.storage.compressions.add(row)

    with pytest.raises(NotFound):
        await long.compress(replace(long.storage, compressions=Waiting()))  # pyright: ignore[reportArgumentType]

    assert not await long.has_archive(1)


async def test_messages_that_come_meanwhile_are_kept(long: Session) -> None:
    """A turn is said while the summary is written: it stands after the summary, word for word."""
    written: list[asyncio.Future[None]] = []

    def meanwhile(_: Any) -> Scripted:
        written.append(asyncio.ensure_future(long.add(user("meanwhile"), says("还在"))))
        return summary()

    class Waiting:
        def __getattr__(self, name: str) -> Any:
            return getattr(long.storage.compressions, name)

        async def add(self, row: CompressionRow) -> None:
            await asyncio.gather(*written)
            await long.storage.compressions.add(row)

    long.model.script = [meanwhile]
    await long.compress(replace(long.storage, compressions=Waiting()))  # pyright: ignore[reportArgumentType]

    assert view(await long.storage.sessions.history("s"))[-2:] == [user("meanwhile"), says("还在")]
