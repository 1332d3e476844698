"""Two replicas that do everything to the same few sessions at once."""

import asyncio
import random
from pathlib import Path

import pytest

from gateway.errors import TurnInProgress
from gateway.events.memory_skill_artifact import Memory
from gateway.storage.blobs.addresses import open_blobs
from gateway.storage.postgres import PostgresDatabase
from gateway.storage.turns import Accepted
from gateway.wiring import storage_on_server
from tests.postgres import database_in, needs_postgres
from tests.product import Conflict, Message, NotFound, QueueFull, Storage, StoredEvent, TurnLost
from tests.storage.writing import accepted, writer_of

pytestmark = [*needs_postgres, pytest.mark.anyio]

SESSIONS = ("a", "b")
WORKERS, STEPS = 8, 60
REFUSALS = (Conflict, NotFound, QueueFull, TurnInProgress, TurnLost)


class Life:
    """What all of them do, and what was stored of it as they were told."""

    def __init__(self, replicas: list[Storage], seed: int) -> None:
        self.replicas = replicas
        self.numbers = random.Random(seed)
        self.stored: dict[tuple[str, int], StoredEvent] = {}
        self.said: dict[str, int] = dict.fromkeys(SESSIONS, 0)
        self.done: list[str] = []
        self.lost = 0
        self.running: set[asyncio.Task[None]] = set()

    @property
    def replica(self) -> Storage:
        return self.numbers.choice(self.replicas)

    async def work(self, name: str) -> None:
        for step in range(STEPS):
            try:
                await self.step(self.numbers.choice(SESSIONS), f"{name}_{step}")
            except REFUSALS:
                continue

    async def step(self, session: str, name: str) -> None:
        storage = self.replica
        match self.numbers.randrange(8):
            case 0 | 1 | 2:
                how = self.numbers.choice(("queue", "interrupt", "reject"))
                now = await accepted(storage, session, f"t_{name}", on_conflict=how, client_message_id=name)
                if now.turn.status == "running":
                    self.run(storage, now)
            case 3:
                data = Memory(op="remembered", memory_id="m_1", kind="fact", reason="she said so")
                await storage.log.note(session, f"c_{name}", data, 1)
            case 4:
                await storage.log.deliver(session, 2)
            case 5:
                await self.steal(storage)
            case 6:
                await self.claim(session)
            case _:
                assert (await storage.sessions.get(session, "ann")).id == session

    def run(self, storage: Storage, now: Accepted) -> None:
        task = asyncio.create_task(self.write(storage, now))
        self.running.add(task)
        task.add_done_callback(self.running.discard)

    async def write(self, storage: Storage, now: Accepted) -> None:
        """A turn, until it ends or another owner has it; then whoever is first claims the next."""
        writer = writer_of(storage, now)
        session = now.turn.session_id
        message = Message("assistant", [{"type": "text", "text": "yes"}])
        for _ in range(self.numbers.randint(1, 5)):
            says = message if self.numbers.random() < 0.3 else None
            fate = await writer.append(*["text"] * self.numbers.randint(1, 9), message=says)
            if fate is not None:
                assert isinstance(fate, TurnLost)
                self.lost += 1
                return
            self.said[session] += says is not None
            self.stored |= {(session, event.seq): event for event in writer.sent}
        if await writer.close() is None:
            self.done.append(now.turn.id)
            self.stored |= {(session, event.seq): event for event in writer.sent}
            await asyncio.gather(*(self.claim(session) for _ in range(2)))

    async def claim(self, session: str) -> None:
        storage = self.replica
        if (now := await storage.turns.claim_next(session)) is not None:
            self.run(storage, now)

    async def steal(self, storage: Storage) -> None:
        """As if its owner had been lost."""
        if owned := await storage.turns.owned():
            turn = self.numbers.choice(owned)
            if (now := await storage.turns.take_over(turn.turn_id, recovered=True)) is not None:
                self.run(storage, now)

    async def settle(self) -> None:
        """Until nothing runs or waits."""
        while self.running or await self.replicas[0].turns.count_waiting():
            await asyncio.gather(*self.running, *(self.claim(session) for session in SESSIONS))
        for session in SESSIONS:
            assert await self.replicas[0].log.deliver(session, 3)


@pytest.mark.parametrize("seed", range(3))
async def test_the_record_stays_whole(tmp_path: Path, seed: int) -> None:
    """Turns are accepted, queued, claimed, written, taken over and ended, notes come and are delivered, each
    through either replica: every log is without gap, what was stored is in it once, every turn is done once,
    and messages follow each other. Nothing fails but what is refused by name."""
    url = database_in(tmp_path)
    async with (
        await PostgresDatabase.open(url) as first,
        await PostgresDatabase.open(url) as second,
        storage_on_server(first, open_blobs(None, tmp_path)) as one,
        storage_on_server(second, open_blobs(None, tmp_path)) as other,
    ):
        for session in SESSIONS:
            await one.sessions.create(session, "ann", None, 1)
        life = Life([one, other], seed)
        await asyncio.gather(*(life.work(f"{worker}") for worker in range(WORKERS)))
        await life.settle()

        assert life.lost
        assert len(life.done) == len(set(life.done))
        ended: list[str] = []
        for session in SESSIONS:
            log = await other.log.read(session, after=0, limit=100_000)
            assert [event.seq for event in log] == list(range(1, len(log) + 1))
            assert (await other.sessions.get(session, "ann")).head == len(log)
            assert all(log[seq - 1] == event for (name, seq), event in life.stored.items() if name == session)
            ended += [event.turn_id for event in log if event.type == "done"]
            messages = await other.sessions.messages(session)
            assert [each.position for each in messages] == list(range(1, life.said[session] + 1))
            assert await other.log.outbox_of(session) == []
        assert sorted(ended) == sorted(life.done)
