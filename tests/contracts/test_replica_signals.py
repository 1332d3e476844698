"""What a transaction sends is heard once it is committed, before the caller goes on."""

from collections.abc import Callable
from typing import get_args

import pytest

from gateway.errors import TurnInProgress
from gateway.storage.replica_signals import Kind
from tests.product import Storage, Text
from tests.storage.writing import OWNER, accepted, running

pytestmark = pytest.mark.anyio

NOTED = Text(text="noted")


def heard(storage: Storage) -> list[tuple[Kind, str]]:
    """What is heard from now on."""
    found: list[tuple[Kind, str]] = []

    def hears(kind: Kind) -> Callable[[str], None]:
        return lambda subject: found.append((kind, subject))

    for kind in get_args(Kind):
        storage.signals.on(kind, hears(kind))
    return found


async def test_a_turn_that_is_to_stop_is_heard_of_until_it_has_stopped(storage: Storage) -> None:
    """However often it is asked; nobody hears of one that is over, or that nobody knows."""
    writer, found = await running(storage), heard(storage)
    for _ in range(2):
        await storage.turns.request_cancel("t")
    assert found == [("cancel", "t")] * 2
    await writer.close()

    await storage.turns.request_cancel("t")
    await storage.turns.request_cancel("nobody")

    assert len(found) == 2


async def test_a_turn_that_waits_is_heard_of_and_stops_the_one_it_interrupts(storage: Storage) -> None:
    """One that runs at once, or is refused, or came before, is not."""
    found = heard(storage)
    await running(storage)
    with pytest.raises(TurnInProgress):
        await accepted(storage, turn_id="t2")
    assert found == []

    await accepted(storage, turn_id="t3", on_conflict="queue", client_message_id="m")
    await accepted(storage, turn_id="t4", on_conflict="queue", client_message_id="m")
    await accepted(storage, turn_id="t5", on_conflict="interrupt")

    assert found == [("waiting", "s"), ("waiting", "s"), ("cancel", "t")]


async def test_what_waits_in_the_outbox_is_heard_of(storage: Storage) -> None:
    """Not what gets into the log at once."""
    writer, found = await running(storage), heard(storage)
    entry = await storage.log.note("s", "c_1", NOTED, 77)
    assert entry is not None
    assert found == [("outbox", "s")]
    await writer.close()

    assert await storage.log.note("s", "c_2", NOTED, 78) is None

    assert len(found) == 1


async def test_a_session_that_is_deleted_is_gone_for_its_readers(storage: Storage) -> None:
    """When the deletion returns they know. One that is refused changes nothing."""
    writer, found = await running(storage), heard(storage)
    with storage.bus.subscribe("s") as reader:
        with pytest.raises(TurnInProgress):
            await storage.sessions.delete("s", OWNER)
        assert not reader.gone
        await writer.close()

        await storage.sessions.delete("s", OWNER)

        assert reader.gone
    assert found == [("gone", "s")]


async def test_a_hearer_that_fails_disturbs_nobody(
    storage: Storage, caplog: pytest.LogCaptureFixture
) -> None:
    """What it raised is logged; others hear it, and what was sent is done."""

    def broken(subject: str) -> None:
        raise RuntimeError(f"cannot hear {subject}")

    storage.signals.on("cancel", broken)
    found = heard(storage)
    await running(storage)

    await storage.turns.request_cancel("t")

    assert found == [("cancel", "t")]
    assert "cannot hear t" in caplog.text
    assert (await storage.turns.get("s", "t", OWNER)).cancel_requested
