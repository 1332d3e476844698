"""Gateways on one database, and what they and its server use of the CPU."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from bench import client, servers
from bench.cells import SETTLE
from bench.client import GATEWAY, Load
from bench.scale.cluster import Cluster
from bench.servers import Server


@dataclass(frozen=True, slots=True)
class Fleet:
    """Replicas, or one gateway on SQLite, and the server of their database."""

    gateways: Sequence[Server]
    cluster: Cluster | None = None

    def cpu(self) -> float:
        """Seconds of CPU of all gateways."""
        return sum(each.cpu() for each in self.gateways)

    def database_cpu(self) -> float:
        return self.cluster.cpu() if self.cluster else 0


def settings_of(cluster: Cluster, blobs: str, **more: str) -> dict[str, str]:
    """Settings of replicas that share a new database, which is made and migrated."""
    shared = {
        "GATEWAY_DATABASE_URL": cluster.database(),
        "GATEWAY_BLOB_URL": blobs,
        "GATEWAY_BLOBS_SHARED": "true",
    }
    servers.command(["gateway", "migrate"], shared)
    return shared | more


@contextmanager
def replicas(count: int, upstream: int, cluster: Cluster, **more: str) -> Generator[Fleet]:
    """So many gateways on a new database."""
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="bench-"))
        shared = settings_of(cluster, f"{folder}/blobs", **more)
        names = (f"replica {number}" for number in range(count))
        gateways = [stack.enter_context(servers.gateway(upstream, name, **shared)) for name in names]
        yield Fleet(gateways, cluster)


@contextmanager
def alone(upstream: int) -> Generator[Fleet]:
    """One gateway on SQLite."""
    with servers.gateway(upstream, "sqlite") as server:
        yield Fleet([server])


@dataclass(slots=True)
class Cost:
    """What a load took: microseconds of CPU for each piece, of the gateways, and for each event, of the
    database."""

    per_piece: float
    per_event: float
    events_per_second: float
    failures: int


async def cost_of(fleet: Fleet, message: str, *, chats: int, at_once: int, ramp: float = 0) -> Cost:
    """The load, spread over the gateways."""
    await asyncio.sleep(SETTLE)
    gateways, database = fleet.cpu(), fleet.database_cpu()
    count = len(fleet.gateways)
    loads: list[Load] = await asyncio.gather(
        *(
            client.run(
                server.port,
                GATEWAY,
                message,
                chats=chats // count,
                at_once=at_once // count,
                ramp=ramp,
            )
            for server in fleet.gateways
        )
    )
    gateways, database = fleet.cpu() - gateways, fleet.database_cpu() - database
    pieces, events = sum(load.pieces for load in loads), sum(load.events for load in loads)
    seconds = max(load.seconds for load in loads)
    return Cost(
        gateways / max(pieces, 1) * 1e6,
        database / max(events, 1) * 1e6,
        events / seconds,
        sum(len(load.failures) for load in loads),
    )
