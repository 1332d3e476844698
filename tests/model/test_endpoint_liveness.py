"""Which endpoints are local, and how one is asked for signs of life."""

import asyncio
from collections.abc import Callable

import pytest

from gateway.model import endpoint_liveness
from gateway.model.endpoint_address import is_local
from gateway.model.endpoint_liveness import EndpointLiveness, FirstByteWait
from gateway.model.http_client import Wire
from gateway.model.retry_delay import StartPatience
from tests.loopback import TIMEOUT, free_port
from tests.one_slot_server import one_slot_server
from tests.product import ModelError, load_settings

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8080", True),
        ("http://127.8.9.1", True),
        ("http://localhost:8080/v1", True),
        ("http://LOCALHOST.:8080", True),
        ("http://llama.localhost", True),
        ("http://[::1]:8080", True),
        ("http://[::ffff:192.168.1.2]:8080", True),
        ("http://[fd12::1]", True),
        ("http://10.1.2.3", True),
        ("http://172.16.0.1", True),
        ("http://172.31.255.255", True),
        ("http://192.168.178.2:11434", True),
        ("http://spark.local:8000", True),
        ("http://host.docker.internal:1234", True),
        ("http://ollama:11434", True),
        ("https://api.anthropic.com", False),
        ("https://openrouter.ai/api", False),
        ("http://172.32.0.1", False),
        ("http://11.0.0.1", False),
        ("http://[2001:db8::1]", False),
        ("http://example.local.org", False),
        ("http://local", True),
        ("http://8.8.8.8", False),
    ],
)
def test_local_is_what_looks_so(url: str, expected: bool) -> None:
    """Loopback and private addresses, and the names that only such have."""
    assert is_local(url) is expected


def liveness(url: str, *, loading_timeout: float = 120) -> tuple[EndpointLiveness, Wire]:
    wire = Wire(TIMEOUT)
    return EndpointLiveness(wire, url, local=True, loading_timeout=loading_timeout), wire


async def test_a_look_tells_health_loading_an_unknown_route_and_absence() -> None:
    """Each by the status of /health, or by what became of the connection."""
    async with one_slot_server() as server:
        life, wire = liveness(server.url)
        assert (life.has_answered, life.start_patience) == (False, endpoint_liveness.NEVER_SEEN)
        assert await life.look() == "alive"
        assert (life.has_answered, life.start_patience) == (True, 120)
        server.health = False
        assert await life.look() == "unknown"
        await server.kill()
        assert await life.look() == "gone"
        await server.start(loads=TIMEOUT)
        assert await life.look() == "loading"
        await wire.close()


async def test_a_server_that_takes_connections_and_says_nothing_is_silent() -> None:
    """Within the time that a look has."""
    stays = asyncio.Event()

    async def hang(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await stays.wait()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    life, wire = liveness(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert await life.look(0.05) == "silent"
    stays.set()
    await wire.close()
    server.close()


async def test_the_wait_for_the_start_ends_with_the_first_sign() -> None:
    """Or with the time."""
    port = free_port()
    life, wire = liveness(f"http://127.0.0.1:{port}")
    await life.started(0.3)
    assert not life.has_answered
    async with one_slot_server(port=port) as server:
        await server.kill()
        await server.start(loads=0.5)
        async with asyncio.timeout(TIMEOUT):
            await life.started(TIMEOUT)
        assert await life.look() == "alive"
    await wire.close()


async def watched(life: EndpointLiveness, *, longest: float, begun: Callable[[], bool] = bool) -> bool:
    """Whether the wait for the first byte is given up within a second."""
    loop, expired = asyncio.get_running_loop(), asyncio.Event()
    waits = FirstByteWait(life, loop.time(), (0.05, longest), expired.set, begun)
    try:
        async with asyncio.timeout(1):
            await expired.wait()
    except TimeoutError:
        return False
    finally:
        waits.stop()
    return True


async def test_the_first_byte_is_waited_for_as_long_as_there_is_life() -> None:
    """Without a health route as long as the time is; of a server that is gone not at all; and nothing is
    given up once the answer has begun."""
    async with one_slot_server() as server:
        life, wire = liveness(server.url)
        assert not await watched(life, longest=0.05)
        server.health = False
        assert not await watched(life, longest=TIMEOUT)
        assert await watched(life, longest=0.05)
        assert not await watched(life, longest=0.05, begun=lambda: True)
        await server.kill()
        assert await watched(life, longest=TIMEOUT)
        await wire.close()


async def test_the_patience_with_a_start_is_one_for_all_attempts() -> None:
    """Attempts that fail of it do not count, and the endpoint's own wish is heeded; others count as ever."""
    settings, patience = load_settings(), StartPatience()
    loading = ModelError("loading", code="upstream_error", retryable=True, retry_after=3)
    loading.starts_within = 0.2
    other = ModelError("busy", code="upstream_overloaded", retryable=True)

    def delay(error: ModelError, attempt: int) -> float | None:
        return patience.next_delay(error, attempt, attempts=2, settings=settings)

    assert delay(loading, 1) == 3
    assert 0 < patience.left <= 0.2
    assert delay(other, 2) is not None
    assert delay(loading, 3) == 3
    assert delay(other, 4) is None
    await asyncio.sleep(0.25)
    assert patience.left == 0
    assert delay(loading, 5) is None
