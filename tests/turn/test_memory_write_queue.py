"""What tools suggest to remember goes to the memory, and no turn waits for it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest
import structlog

from gateway.events.tool_calls import MemoryWriteSuggestion
from gateway.turn import memory_write_queue
from gateway.turn.memory_write_queue import MAX_WAITING, MemoryPort, MemoryWriteQueue, WriteSource

pytestmark = pytest.mark.anyio

SOURCE = WriteSource("anna", "s_1", "t_1", "toolu_1", "book")


def write(content: str = "喜欢靠窗的座位") -> MemoryWriteSuggestion:
    return MemoryWriteSuggestion(
        owner_type="user", owner_id="anna", type="preference", importance=4, content=content
    )


class Memory:
    """Keeps what is suggested; `act` is done first."""

    def __init__(self, act: Callable[[str], None] = lambda _: None) -> None:
        self.kept: list[tuple[str, WriteSource]] = []
        self._act = act

    async def suggest(self, writes: Sequence[MemoryWriteSuggestion], source: WriteSource) -> None:
        for each in writes:
            self._act(each.content)
            self.kept.append((each.content, source))


class Closed:
    """Never answers."""

    async def suggest(self, writes: Sequence[MemoryWriteSuggestion], source: WriteSource) -> None:
        await asyncio.Event().wait()


@asynccontextmanager
async def working(port: MemoryPort | None = None) -> AsyncGenerator[MemoryWriteQueue]:
    """Suggestions are handed on for the length of the context, and what waits at its end too."""
    queue = MemoryWriteQueue(port)
    work = asyncio.create_task(queue.run())
    try:
        yield queue
        await queue.close()
    finally:
        work.cancel()
        await asyncio.wait([work])


async def test_suggestions_reach_the_memory_in_their_order_with_where_they_come_from() -> None:
    """What is handed over before the end is handed on."""
    memory = Memory()

    async with working(memory) as queue:
        queue.enqueue([write("一"), write("二")], SOURCE)
        queue.enqueue([write("三")], SOURCE._replace(tool_call_id="toolu_2"))

    assert [(content, source.tool_call_id) for content, source in memory.kept] == [
        ("一", "toolu_1"),
        ("二", "toolu_1"),
        ("三", "toolu_2"),
    ]


async def test_a_memory_that_fails_is_logged_and_goes_on_with_the_next() -> None:
    """The suggestions that it failed for are not tried again, and the log does not tell them."""

    def act(content: str) -> None:
        if content == "secret":
            raise RuntimeError(content)

    memory = Memory(act)

    with structlog.testing.capture_logs() as lines:
        async with working(memory) as queue:
            queue.enqueue([write("secret")], SOURCE)
            queue.enqueue([write("kept")], SOURCE)

    assert [content for content, _ in memory.kept] == ["kept"]
    assert [(line["event"], line["error"], line["turn_id"]) for line in lines] == [
        ("memory_writes_failed", "RuntimeError", "t_1")
    ]
    assert "secret" not in str(lines)


async def test_a_memory_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call's suggestions have a time of their own."""
    monkeypatch.setattr(memory_write_queue, "CALL_TIMEOUT", 0.01)

    with structlog.testing.capture_logs() as lines:
        async with working(Closed()) as queue:
            queue.enqueue([write()], SOURCE)
            queue.enqueue([write()], SOURCE)

    assert [(line["event"], line["error"]) for line in lines] == [
        ("memory_writes_failed", "TimeoutError")
    ] * 2


async def test_the_end_waits_shortly(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left then is dropped with a line in the log."""
    monkeypatch.setattr(memory_write_queue, "DRAIN_TIMEOUT", 0.01)

    with structlog.testing.capture_logs() as lines:
        async with working(Closed()) as queue:
            queue.enqueue([write()], SOURCE)
            queue.enqueue([write()], SOURCE)

    assert [(line["event"], line["waiting"]) for line in lines] == [("memory_writes_dropped", 1)]


async def test_what_is_too_much_is_dropped_and_counted() -> None:
    """A turn never waits: the queue is bounded, and says what it does not take."""
    queue = MemoryWriteQueue(Closed())

    with structlog.testing.capture_logs() as lines:
        for _ in range(MAX_WAITING + 2):
            queue.enqueue([write(), write()], SOURCE)

    assert queue.dropped == 4
    assert [(line["event"], line["tool"], line["dropped"]) for line in lines] == [
        ("memory_writes_dropped", "book", 2),
        ("memory_writes_dropped", "book", 4),
    ]


async def test_without_a_memory_suggestions_are_lines_in_the_log() -> None:
    """What they are about is not told at any level."""
    with structlog.testing.capture_logs() as lines:
        async with working() as queue:
            queue.enqueue([write()], SOURCE)

    assert lines == [
        {
            "event": "memory_write_suggested",
            "log_level": "info",
            "session_id": "s_1",
            "turn_id": "t_1",
            "tool_call_id": "toolu_1",
            "tool": "book",
            "type": "preference",
            "owner_type": "user",
            "importance": 4,
            "size": 7,
        }
    ]
