"""`python -m bench.limits`: what it costs to count a request, and how exactly many users get their limit.

The users ask over loopback sockets, all of them more often than they may, on SQLite and on two replicas that
share a PostgreSQL database."""

import asyncio
import os
import re
import secrets
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import uvloop
from pydantic import SecretStr
from starlette.datastructures import Headers

from bench import servers
from bench.figures import Figure, show
from bench.scale import cluster
from bench.scale.gateways import Fleet, replicas
from gateway.service.request_rates import RequestRates
from gateway.settings import load_settings
from gateway.wiring import open_storage
from gateway.wiring.authentication import open_authentication
from tests.postgres import WITHOUT

ROUNDS = 7
TIMES = 2000
AIM = 60.0
"""Microseconds to find out who asks, and to count it for two rules."""
MOST = 100
TOO_MANY = 10
"""Requests that each user may make, and makes beyond that."""
USERS = 1000
CONNECTIONS = 16
"""To each gateway."""
LONGEST = 600.0
"""Seconds after which the users are given up."""
KEY = secrets.token_urlsafe(32)
GIVEN = {
    "GATEWAY_API_KEYS": f"desk:{KEY}",
    "GATEWAY_DELEGATE_KEYS": "desk",
    "GATEWAY_LIMITS": f"user:requests={MOST}/month,key:requests=10M/month,user:requests=1M/second",
}
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


async def counting() -> list[Figure]:
    """In one process, where nothing is stored."""
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(
            data_dir=Path(folder),
            api_keys=SecretStr(f"ada:{KEY}"),
            limits=("user:requests=100M/second", "key:requests=100M/day"),
        )
        authentication, _ = open_authentication(settings)
        headers = Headers({"host": "127.0.0.1:8000", "authorization": f"Bearer {KEY}"})
        async with open_storage(settings) as storage:
            rates = RequestRates(settings, storage.limits)
            known, counted = list[float](), list[float]()
            who = await authentication.identify(headers)
            for _ in range(ROUNDS):
                began = time.process_time()
                for _ in range(TIMES):
                    await authentication.identify(headers)
                between = time.process_time()
                for _ in range(TIMES):
                    await rates.take(who)
                known.append((between - began) / TIMES * 1e6)
                counted.append((time.process_time() - between) / TIMES * 1e6)
    both = median(map(sum, zip(known, counted, strict=True)))
    return [
        Figure("a request with a key and two rules", both, "us", AIM),
        Figure("  of these the two rules", median(counted), "us", float("inf")),
    ]


def exactness(name: str, fleet: Fleet, users: int) -> Iterator[Figure]:
    before = fleet.cpu()
    let_in, refused, failed = uvloop.run(_asking([each.port for each in fleet.gateways], users))
    cost = (fleet.cpu() - before) / (let_in.total() + refused + failed) * 1e6
    furthest = max(abs(let_in[user] - MOST) for user in range(users)) / MOST * 100
    yield Figure(f"{name}, {users:,} users: furthest from the limit", furthest, "%", 1)
    yield Figure("  neither let in nor refused", failed, "", 0)
    yield Figure("  gateway CPU per request", cost, "us", float("inf"))


async def _asking(ports: Sequence[int], users: int) -> tuple[Counter[int], int, int]:
    """How many requests of each user were let in, and of all how many were refused, and how many failed. Each
    user asks all gateways at once. Raises TimeoutError."""
    let_in, others = Counter[int](), Counter[bytes]()
    times = (MOST + TOO_MANY) // len(ports)

    async def ask(port: int, first: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for user in range(first, users, CONNECTIONS):
            request = f"GET /api/me HTTP/1.1\r\nHost: x\r\nx-api-key: {KEY}\r\nx-user-id: u{user}\r\n\r\n"
            writer.write(request.encode() * times)
            for _ in range(times):
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head)
                await reader.readexactly(int(length[1]) if length else 0)
                status = STATUS.match(head)
                if status is not None and status[1] == b"200":
                    let_in[user] += 1
                else:
                    others[status[1] if status is not None else head] += 1
        writer.close()

    async with asyncio.timeout(LONGEST), asyncio.TaskGroup() as group:
        for first in range(min(CONNECTIONS, users)):
            for port in ports:
                group.create_task(ask(port, first))
    refused = others.pop(b"429", 0)
    return let_in, refused, others.total()


def main() -> int:
    """How many figures missed their aim."""
    parser = ArgumentParser(prog="python -m bench.limits", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer users")
    users = 50 if parser.parse_args().quick else USERS
    missed = show(asyncio.run(counting()))
    with servers.upstream() as upstream:
        with servers.gateway(upstream.port, **GIVEN) as server:
            missed += show(exactness("SQLite", Fleet([server]), users))
        if os.environ.get(WITHOUT) == "1":
            print(f"{WITHOUT}=1 leaves out the replicas.")
            return missed
        with cluster.running() as database, replicas(2, upstream.port, database, **GIVEN) as fleet:
            missed += show(exactness("two replicas", fleet, users))
    return missed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
