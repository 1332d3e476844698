"""Whatever the order in which turns write, lose their turn and end: the log has no gap and no repetition, and
nothing was shown that is not in it."""

import asyncio
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.storage.sqlite import event_rows
from tests.postgres import drop_databases
from tests.product import Storage, StoredEvent, TurnLost
from tests.storage.writing import (
    ENGINES,
    Factory,
    Writer,
    accepted,
    running,
    sqlite_storage,
    taken_anew,
    writer_of,
)

SESSIONS = ("a", "b", "c")

session = st.sampled_from(SESSIONS)
step = st.one_of(
    st.tuples(st.just("append"), session, st.integers(1, 5)),
    st.tuples(st.just("zombie"), session, st.integers(1, 3)),
    st.tuples(st.just("close"), session, st.just(0)),
    st.tuples(st.just("take over"), session, st.just(0)),
    st.tuples(st.just("settle"), session, st.just(0)),
    st.tuples(st.just("breathe"), session, st.integers(1, 3)),
)


class Story:
    """Three sessions, each with the writer whose turn it is and those that lost it. `in_order`: what is asked
    for is done in the order in which it was, whatever it is."""

    def __init__(self, storage: Storage, *, in_order: bool) -> None:
        self.storage = storage
        self.in_order = in_order
        self.writers: dict[str, Writer] = {}
        self.lost: dict[str, Writer] = {}
        self.fates: list[tuple[asyncio.Future[Exception | None], bool]] = []
        self.shown: dict[str, list[StoredEvent]] = {name: [] for name in SESSIONS}
        self.turns = 0
        storage.bus.watch(lambda name, events: self.shown[name].extend(events))

    async def begin(self, name: str) -> None:
        self.turns += 1
        self.writers[name] = await running(self.storage, name, f"t{self.turns}")

    async def take(self, kind: str, name: str, count: int) -> None:
        writer = self.writers[name]
        if kind == "append":
            self.send(writer, count, wanted=True)
        elif kind == "zombie" and name in self.lost:
            zombie = self.lost[name]
            zombie.head = writer.head  # it even guesses the head
            self.send(zombie, count, wanted=False)
        elif kind == "close":
            self.fates.append((writer.close(), True))
            await self.settle()
            await self.begin(name)
        elif kind == "take over":
            if not self.in_order:
                await self.settle()
            self.lost = dict(self.writers)
            taken = await taken_anew(self.storage)
            self.writers = {now.turn.session_id: writer_of(self.storage, now) for now in taken}
        elif kind == "settle":
            await self.settle()
        else:
            for _ in range(count):
                await asyncio.sleep(0)

    def send(self, writer: Writer, count: int, *, wanted: bool) -> None:
        self.fates.append((writer.append(*["text"] * count, body=b"%d" % writer.epoch), wanted))

    async def settle(self) -> None:
        for fate, wanted in self.fates:
            refused = await fate
            assert refused is None if wanted else isinstance(refused, TurnLost)


@pytest.mark.parametrize("factory", ENGINES)
@settings(max_examples=40)
@given(steps=st.lists(step, max_size=40), loose=st.sampled_from([3, 10, event_rows.LOOSE_EVENTS]))
def test_the_log_stays_whole_whatever_happens_in_whatever_order(
    factory: Factory, steps: list[tuple[str, str, int]], loose: int
) -> None:
    """Every wanted append is stored, every other refused; seq has no gap; readers were shown just the log;
    whether or not events were packed meanwhile."""

    async def story() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with factory(Path(folder)) as storage:
                shown = Story(storage, in_order=factory is sqlite_storage)
                for name in SESSIONS:
                    await shown.begin(name)
                for taken in steps:
                    await shown.take(*taken)
                await shown.settle()
                for name in SESSIONS:
                    stored = await storage.log.read(name, after=0, limit=10_000)
                    assert [event.seq for event in stored] == list(range(1, len(stored) + 1))
                    assert stored == shown.shown[name]
                    assert (await storage.sessions.get(name, "ann")).head == len(stored)

    with patch.object(event_rows, "LOOSE_EVENTS", loose):
        asyncio.run(story())
    drop_databases()


@pytest.mark.parametrize("factory", ENGINES)
def test_appends_and_accepts_of_many_sessions_share_flushes_without_harm(factory: Factory) -> None:
    """Many short turns at once, each accepted, written and closed, while others come and go."""

    async def chat(storage: Storage, number: int) -> None:
        for turn in range(3):
            now = await accepted(storage, f"s{number}", f"t{number}_{turn}")
            writer = writer_of(storage, now)
            fates = [writer.append("text", sync=piece % 2 == 0) for piece in range(5)]
            assert await asyncio.gather(*fates, writer.close()) == [None] * 6
            assert await storage.turns.claim_next(f"s{number}") is None

    async def story() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with factory(Path(folder)) as storage:
                await asyncio.gather(*(chat(storage, number) for number in range(40)))
                for number in range(40):
                    stored = await storage.log.read(f"s{number}", after=0, limit=100)
                    assert [event.seq for event in stored] == list(range(1, 19))

    asyncio.run(story())
