"""The one door that events leave by, seen from the side of the log."""

import asyncio
from contextlib import suppress

import pytest

from gateway.events.lifecycle import TurnWarning
from gateway.turn.emitter import MAX_PENDING, Emitter
from gateway.turn.progress import TurnProgress
from tests.loopback import TIMEOUT
from tests.product import Append, StorageError, TurnLost, TurnRow

pytestmark = pytest.mark.anyio

TURN = TurnRow("t", "s", "anna", "running", None, "hi", "m", None, 1, 0, 0, 0, False)
NOTE = TurnWarning(code="c", message="m")


class HeldLog:
    """A log that keeps what it is given until the test says what became of it."""

    def __init__(self) -> None:
        self.given: list[Append] = []

    def append(self, batch: Append) -> None:
        self.given.append(batch)

    def settle(self, error: Exception | None = None) -> None:
        for batch in self.given:
            batch.settled(error)


def _emitter(head: int = 7) -> tuple[Emitter, HeldLog]:
    log = HeldLog()
    return Emitter(log, TURN, head, TurnProgress()), log


async def test_events_continue_from_the_head_without_a_gap() -> None:
    """Each append says where it continues, so that the log can refuse what does not fit."""
    emitter, log = _emitter()
    emitter.emit(NOTE)
    emitter.delta("text", "a")
    emitter.emit(NOTE)

    assert [(batch.head, [event.seq for event in batch.events]) for batch in log.given] == [
        (7, [8]),
        (8, [9]),
        (9, [10]),
    ]


async def test_what_is_emitted_together_is_one_append() -> None:
    """All of it becomes durable or none."""
    emitter, log = _emitter()
    with emitter.atomic():
        emitter.emit(NOTE)
        emitter.emit(NOTE)

    (batch,) = log.given
    assert (batch.head, [event.seq for event in batch.events]) == (7, [8, 9])


async def test_what_is_broken_off_leaves_no_hole() -> None:
    """When the making of a batch fails nothing of it is stored, and the numbers are used again."""
    emitter, log = _emitter()
    with suppress(RuntimeError), emitter.atomic():
        emitter.emit(NOTE)
        raise RuntimeError
    emitter.emit(NOTE)

    assert [[event.seq for event in batch.events] for batch in log.given] == [[8]]


async def test_too_much_that_is_pending_holds_back_the_producer() -> None:
    """room() returns only when the log has caught up."""
    emitter, log = _emitter()
    emitter.delta("text", "x" * MAX_PENDING)
    waiting = asyncio.create_task(emitter.wait_for_capacity())
    await asyncio.sleep(0)

    assert not waiting.done()
    log.settle()
    await asyncio.wait_for(waiting, TIMEOUT)


async def test_after_a_refusal_every_call_says_so() -> None:
    """A turn that cannot be recorded does not go on."""
    emitter, log = _emitter()
    emitter.emit(NOTE)
    log.settle(TurnLost("another owner"))

    with pytest.raises(TurnLost):
        emitter.delta("text", "a")
    with pytest.raises(TurnLost):
        await emitter.flush()


async def test_an_abandoned_task_stays_silent() -> None:
    """What does not heed its cancellation can emit nothing any more."""
    emitter, log = _emitter()
    emitter.abandon(StorageError("closed"))

    with pytest.raises(StorageError, match="closed"):
        emitter.emit(NOTE)
    assert log.given == []
