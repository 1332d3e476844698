"""What a piece of text costs on either engine, and on several replicas."""

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from statistics import median

import uvloop

from bench import servers
from bench.cells import SETTLE
from bench.figures import Figure
from bench.scale.cluster import Cluster
from bench.scale.gateways import Cost, Fleet, alone, cost_of, replicas, settings_of
from gateway import wiring
from gateway.events.envelope import StoredEvent, encode, encode_scope
from gateway.settings import load_settings
from gateway.storage.log import Append
from gateway.storage.turns import Accepted, NewTurn
from gateway.wiring import Storage

ROUNDS = 3
STREAMS = 99
"""Side by side, each of 20 pieces a second."""
SHARE = STREAMS // 3
"""As many as each of three replicas has."""
FLUSHES = ((20, 1, 40), (50, 10, 12))
"""Sessions that append at once, events of each, and the microseconds of the server aimed at for an event."""
IDLE = 5.0
"""Seconds for which gateways are left alone."""
DATA = b'{"text":"a piece of an answer"}'


def pieces(cluster: Cluster, *, quick: bool) -> Iterator[Figure]:
    """Streams that are open together, on SQLite, on one replica and on three: each round measures all. What
    is more costly per piece with fewer streams, as fewer pieces share a flush and a wake-up, is the same for
    one replica: three are compared with one that has as many as each of them."""
    rounds = 1 if quick else ROUNDS
    count = 60 if quick else 200
    message = f"/pieces {count} /pace 50"
    found: dict[str, list[Cost]] = {"sqlite": [], "one": [], "a third": [], "three": []}
    with ExitStack() as stack:
        upstream = stack.enter_context(servers.upstream()).port
        fleets: dict[str, Fleet] = {
            "sqlite": stack.enter_context(alone(upstream)),
            "one": stack.enter_context(replicas(1, upstream, cluster)),
            "three": stack.enter_context(replicas(3, upstream, cluster)),
        }
        for fleet in fleets.values():  # what is loaded at the first chats
            uvloop.run(cost_of(fleet, "/pieces 10", chats=30, at_once=6))
        for name, fleet in fleets.items():
            yield Figure(f"  ms a second of an idle gateway, {name}", idle(fleet), "ms", float("inf"))
        for number in range(rounds):
            loads = [("sqlite", STREAMS), ("one", STREAMS), ("one", SHARE), ("three", STREAMS)]
            for name, streams in loads[number % 4 :] + loads[: number % 4]:
                took = uvloop.run(cost_of(fleets[name], message, chats=streams, at_once=streams, ramp=1.0))
                found["a third" if streams == SHARE else name].append(took)
    yield Figure("gateway CPU per piece, postgresql to sqlite", _ratio(found, "one", "sqlite"), "x", 1.25)
    yield Figure("gateway CPU per piece, three replicas to one", _ratio(found, "three", "a third"), "x", 1.15)
    for name, costs in found.items():
        yield Figure(f"  us per piece, {name}", median(cost.per_piece for cost in costs), "us", float("inf"))
    server = median(cost.per_event for cost in found["one"])
    yield Figure("  us of the server per event, one", server, "us", float("inf"))
    failures = sum(cost.failures for costs in found.values() for cost in costs)
    yield Figure("failures", failures, "", 0)


def idle(fleet: Fleet) -> float:
    """Milliseconds of CPU that each of them uses in a second without any request."""
    time.sleep(SETTLE)
    before = fleet.cpu()
    time.sleep(IDLE)
    return (fleet.cpu() - before) / IDLE / len(fleet.gateways) * 1e3


def _ratio(found: dict[str, list[Cost]], of: str, over: str) -> float:
    return median(one.per_piece / other.per_piece for one, other in zip(found[of], found[over], strict=True))


def appends(cluster: Cluster, *, quick: bool) -> Iterator[Figure]:
    """What the server spends on an event, of the flushes of this process: nothing else happens meanwhile."""
    for sessions, events, bound in FLUSHES:
        flushes = 200 if quick else 1_000
        cost = asyncio.run(_appending(cluster, sessions, events, flushes))
        yield Figure(f"server CPU per event at {sessions * events} per flush", cost, "us", bound)


async def _appending(cluster: Cluster, sessions: int, events: int, flushes: int) -> float:
    async with _storage(cluster) as storage:
        turns = [await _begun(storage, number) for number in range(sessions)]
        heads = [turn.head for turn in turns]
        before = 0.0
        for number in range(flushes // 10 + flushes):
            if number == flushes // 10:  # planned, cached and warm
                before = cluster.cpu()
            await asyncio.gather(
                *(_append(storage, turn, head, events) for turn, head in zip(turns, heads, strict=True))
            )
            heads = [head + events for head in heads]
        return (cluster.cpu() - before) / (flushes * sessions * events) * 1e6


async def _append(storage: Storage, now: Accepted, head: int, count: int) -> None:
    turn, fate = now.turn, asyncio.get_running_loop().create_future()
    scope = encode_scope(turn.session_id, turn.id)
    rows = [
        StoredEvent(seq, "text", turn.id, encode(seq, "text", 1_795_000_000_000 + seq, scope, DATA))
        for seq in range(head + 1, head + count + 1)
    ]
    storage.log.append(Append(turn.session_id, turn.id, turn.epoch, head, rows, fate.set_result))
    refusal = await fate
    if refusal is not None:
        raise refusal


async def _begun(storage: Storage, number: int) -> Accepted:
    new = NewTurn(f"t_{number}", f"s_{number}", "ann", "hello", "demo", None, "reject", True, 1)
    return await storage.turns.accept(new, max_queued=1)


@asynccontextmanager
async def _storage(cluster: Cluster) -> AsyncGenerator[Storage]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        shared = settings_of(cluster, f"{folder}/blobs")
        settings = load_settings(
            data_dir=Path(folder),
            database_url=shared["GATEWAY_DATABASE_URL"],
            blob_url=shared["GATEWAY_BLOB_URL"],
            blobs_shared=True,
        )
        async with wiring.open_storage(settings) as storage:
            yield storage
