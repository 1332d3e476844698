"""`python -m bench.schedules`: what 10,000 schedules cost, and how soon those begin that are due. The demo
model is a process of its own. On SQLite, and on a PostgreSQL server of this machine's packages unless
GATEWAY_TEST_WITHOUT_POSTGRES=1."""

import asyncio
import os
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from math import inf
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from sqlalchemy import Connection

from bench import servers
from bench.client import percentile
from bench.figures import Figure, show
from bench.scale import cluster
from gateway import wiring
from gateway.ids import new_schedule_id, now_ms
from gateway.messages import Usage
from gateway.model.prices import DEFAULT_WINDOW, cost_of
from gateway.service.limits import UserLimits
from gateway.service.schedules import ScheduleWorker
from gateway.service.session_events import SessionEvents
from gateway.settings import Settings, load_settings
from gateway.storage.schedules import ScheduleRow, ScheduleRun
from gateway.storage.schedules.store import SCHEDULES, Schedules
from gateway.telemetry.lines.logs import configure_logging
from gateway.turn.in_flight import InFlight
from gateway.turn.memory_write_queue import MemoryWriteQueue
from gateway.turn.replica_heartbeat import ReplicaHeartbeat
from gateway.wiring import Storage
from tests.postgres import WITHOUT

SCHEDULES_STORED = 10_000
TICKS = 50
A_SECOND = 20
SECONDS = 10
AT_ONCE = 100
OWNER = "local"


def main() -> None:
    parser = ArgumentParser(prog="python -m bench.schedules", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the ticks and seconds")
    given = parser.parse_args()
    configure_logging("error")
    missed = 0
    for postgres in (False, True)[: 1 if os.environ.get(WITHOUT) == "1" else 2]:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder, database(postgres=postgres) as url:
            settings = load_settings(
                data_dir=Path(folder), database_url=url, blob_url=f"file://{folder}/blobs", blobs_shared=True
            )
            missed += show(asyncio.run(measured(settings, 10 if given.quick else 1)))
    sys.exit(0 if given.quick or not missed else 1)


@contextmanager
def database(*, postgres: bool) -> Generator[str | None]:
    """The address of one that is migrated; None: a file that is made when it is opened."""
    with ExitStack() as stack:
        if not postgres:
            yield None
            return
        url = stack.enter_context(cluster.running()).database()
        servers.command(["gateway", "migrate"], {"GATEWAY_DATABASE_URL": url, "GATEWAY_BLOBS_SHARED": "true"})
        yield url


class Delays:
    """A `ScheduleObserver`: seconds from due times to turns, and how many ended."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.ended = 0
        self._changed = asyncio.Event()

    def schedule_noted(self, run: ScheduleRun) -> None:
        if run.status == "started":
            self.seconds.append((run.at - run.due_at) / 1000)
        else:
            self.ended += 1
            self._changed.set()

    async def until(self, count: int) -> None:
        """Returns when so many runs have ended."""
        async with asyncio.timeout(120):
            while self.ended < count:
                self._changed.clear()
                await self._changed.wait()


async def nothing_against(_: ScheduleRow) -> None:
    """Each schedule may still be run."""


async def measured(settings: Settings, share: int) -> Sequence[Figure]:
    """The cost of a tick where nothing is due; delays of what is due bit by bit, and at once."""
    delays = Delays()
    async with wiring.open_storage(settings) as storage:
        with servers.demo() as endpoint:
            model = wiring.open_model(settings, f"http://127.0.0.1:{endpoint.port}")
            skills = wiring.open_skills(settings, storage.switches, (), tuple, DEFAULT_WINDOW)
            deps = wiring.assemble(
                settings, storage, model, skills, memory_writes=MemoryWriteQueue(), id_key=bytes(32)
            )
            in_flight, events = InFlight(deps), SessionEvents(storage.log)
            limits = UserLimits(settings, storage.limits)
            worker = ScheduleWorker(
                deps,
                in_flight,
                storage.schedules,
                events,
                delays,
                limits=limits,
                refusal=nothing_against,
                undelivered=lambda: None,
            )
            await model.prepare()
            cost_of(settings.model, Usage(input_tokens=1, output_tokens=1))  # loads the prices
            heartbeat = ReplicaHeartbeat(deps, in_flight)
            await heartbeat.beat()
            owning = asyncio.create_task(heartbeat.run())
            await fill(storage, [now_ms() + 10**9 + number for number in range(SCHEDULES_STORED)])
            walls, cpus = await ticks(worker, TICKS // share)
            ticking = asyncio.create_task(worker.run())
            seconds, step = max(2, SECONDS // share), 1000 // A_SECOND
            began = now_ms() + 1500
            await fill(storage, [began + step * number for number in range(A_SECOND * seconds)])
            await delays.until(A_SECOND * seconds)
            spread, delays.seconds = delays.seconds, []
            await fill(storage, [now_ms() + 1500] * AT_ONCE)
            await delays.until(A_SECOND * seconds + AT_ONCE)
            ticking.cancel()
            await in_flight.drain(1)
            await heartbeat.leave()
            owning.cancel()
            await model.close()
    name = "PostgreSQL" if settings.is_shared else "SQLite"
    return [
        Figure(f"{name}: a tick, nothing due, 10,000 stored", median(walls) * 1e3, "ms", 20),
        Figure("  of which CPU of this process", median(cpus) * 1e3, "ms", 20),
        Figure("  the slowest one", max(walls) * 1e3, "ms", inf),
        Figure(f"  from due to the turn, {A_SECOND} a second, p50", percentile(spread, 0.5), "s", 1.5),
        Figure("    p99", percentile(spread, 0.99), "s", 2),
        Figure(f"  from due to the turn, {AT_ONCE} at once, p99", percentile(delays.seconds, 0.99), "s", 2),
    ]


async def fill(storage: Storage, due_times: Sequence[int]) -> None:
    """A schedule for each of these times, into a new session."""
    store = storage.schedules
    assert isinstance(store, Schedules)
    rows = [
        ScheduleRow(
            new_schedule_id(), OWNER, "n", "/say fine", None, at, None, None, "UTC", "once", "active", 1, at
        )
        for at in due_times
    ]

    def filled(connection: Connection) -> None:
        for row in rows:
            SCHEDULES.add(connection, row)

    await store.database.write(filled)


async def ticks(worker: ScheduleWorker, count: int) -> tuple[list[float], list[float]]:
    """Seconds of the clock and of CPU that ticks take, one after the other."""
    walls: list[float] = []
    cpus: list[float] = []
    for _ in range(count):
        began, spent = perf_counter(), process_time()
        await worker.tick()
        walls.append(perf_counter() - began)
        cpus.append(process_time() - spent)
    return walls, cpus


if __name__ == "__main__":
    main()
