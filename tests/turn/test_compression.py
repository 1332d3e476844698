"""Compression inside a turn: when it is tried, how often, and that the turn goes on without it."""

from pathlib import Path
from typing import Any

import pytest

from gateway.errors import CompressionFailed, NothingToCompress
from gateway.events.lifecycle import IterationStart
from gateway.turn.compression import MAX_OVERFLOWS, compress_if_due, compress_overflow
from gateway.turn.context import TurnContext
from gateway.turn.model_call import next_request
from gateway.turn.start_and_end import begin_turn
from tests.history.scripted import says, user
from tests.product import Conflict, Message, text_block
from tests.turn.working import stored, turn_at_work

pytestmark = pytest.mark.anyio

LONG = "and so it went on " * 400


async def _long(turn: TurnContext) -> None:
    """The session has a conversation; the turn is about to ask the model."""
    begin_turn(turn.emitter)
    for number in range(6):
        turn.emitter.record(says(f"{number} {LONG}"))
        turn.emitter.record(user(f"{number} {LONG}"))
    await turn.emitter.flush()
    turn.set_history(await turn.deps.sessions.history("s"))
    turn.emitter.iteration = 1


def _raise(failure: Exception) -> Any:
    async def compress(*_: Any, **__: Any) -> None:
        raise failure

    return compress


async def _kinds(turn: TurnContext) -> list[str]:
    return [each["type"] for each in await stored(turn)][1:]


@pytest.mark.parametrize(("compress_at", "is_due"), [(0.05, True), (0.95, False)])
async def test_a_view_over_its_share_of_the_window_is_shorter_afterwards(
    tmp_path: Path, compress_at: float, is_due: bool
) -> None:
    """Below it nothing happens: no model is asked, and nothing is told."""
    async with turn_at_work(tmp_path, compress_at=compress_at) as turn:
        await _long(turn)
        before = len(turn.messages)
        compressed = await compress_if_due(turn, next_request(turn))
        kinds = await _kinds(turn)

    assert compressed is is_due
    assert (len(turn.messages) < before) is is_due
    assert (turn.history.compression is not None) is is_due
    assert kinds == (["compression", "compression"] if is_due else [])


@pytest.mark.parametrize(
    "failure", [NothingToCompress("Short."), CompressionFailed("No summary."), Conflict("Another one.")]
)
async def test_a_compression_that_comes_to_nothing_is_not_tried_again_in_this_turn(
    tmp_path: Path, failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn goes on with the view that it has."""
    async with turn_at_work(tmp_path, compress_at=0.05) as turn:
        await _long(turn)
        before, request = list(turn.messages), next_request(turn)
        monkeypatch.setattr(turn.deps.compressor, "compress", _raise(failure))
        assert not await compress_if_due(turn, request)
        monkeypatch.setattr(turn.deps.compressor, "compress", _raise(AssertionError("again")))
        assert not await compress_if_due(turn, request)

        assert turn.messages == before


async def test_a_view_that_the_endpoint_finds_too_long_is_compressed_a_few_times_a_turn(
    tmp_path: Path,
) -> None:
    """Its attempt is superseded as soon as the compression starts, before anything is told of it; nobody
    knows how long it may be, and nothing is tried for ever."""
    async with turn_at_work(tmp_path) as turn:
        await _long(turn)
        turn.emit(IterationStart(attempt=1, model="model"))
        tried = [await compress_overflow(turn) for _ in range(MAX_OVERFLOWS + 2)]
        kinds = await _kinds(turn)

    assert tried[0]
    assert not any(tried[MAX_OVERFLOWS:])
    assert kinds[:3] == ["iteration_start", "iteration_superseded", "compression"]
    assert turn.history.compression is not None


@pytest.mark.parametrize("setting", ["compress_on_overflow", "use_compressions"])
async def test_where_it_is_switched_off_a_view_stays_too_long(tmp_path: Path, setting: str) -> None:
    """No attempt is superseded for it: the turn fails with what the endpoint said."""
    given: dict[str, Any] = {setting: False}
    async with turn_at_work(tmp_path, **given) as turn:
        turn.set_history(await turn.deps.sessions.history("s"))
        turn.add(Message("user", [text_block("hello")]))
        assert not await compress_overflow(turn)

        assert await stored(turn) == []
