"""Signs of life of an endpoint on this machine or in a private network, while it says nothing else.

A local model may read a prompt for minutes before its first byte, and loads for a minute when it is
started. Its server answers `GET /health` meanwhile: llama.cpp, vLLM and SGLang with 200, and with 503 while
they load (the README of each server). What has no such route is waited for by time alone.
"""

import asyncio
from collections.abc import Callable
from typing import Literal
from urllib.parse import urlsplit

import aiohttp

from gateway.model.http_client import PreparedRequest, Wire, whole_body

LOCAL_FIRST_BYTE = 600.0
"""Seconds that a local endpoint without a health route gets until its first byte, unless a time is set."""
PROBE_EVERY = 5.0
"""Seconds between two signs of life that are asked for; also the longest wait for one."""
MISSED = 2
"""Signs of life that have to fail one after the other before an endpoint counts as gone."""
FIRST_DELAY, LAST_DELAY = 0.25, 2.0
"""Seconds between two looks whether a server has started: doubled each time, up to the last."""
NEVER_SEEN = 10.0
"""Seconds that a local address is waited for at which nothing has answered yet: it is likely to be wrong."""

Sign = Literal["alive", "loading", "unknown", "silent", "gone"]
"""What a look at an endpoint found: it is healthy; it says that it loads; it answers, and has no health
route; it took the connection and did not answer in time; it takes no connection."""


class EndpointLiveness:
    """What is known of whether one endpoint is there. `has_answered`: some response has come from it since
    this process began. Only a `local` one is asked for signs of life."""

    def __init__(self, wire: Wire, base_url: str, *, local: bool, loading_timeout: float) -> None:
        address = urlsplit(base_url)
        netloc = address.netloc.rpartition("@")[2]
        self._health = PreparedRequest(
            "GET",
            f"{address.scheme}://{netloc}{address.path.rstrip('/')}/health",
            b"Host: %b\r\nAccept: */*\r\n" % netloc.encode("idna" if not netloc.isascii() else "ascii"),
        )
        self._wire, self.is_local, self._loading_timeout = wire, local, loading_timeout
        self.has_answered = False

    @property
    def start_patience(self) -> float:
        """Seconds that a server is waited for that takes no connection."""
        return self._loading_timeout if self.has_answered else min(NEVER_SEEN, self._loading_timeout)

    @property
    def loading_patience(self) -> float:
        """Seconds that a server is waited for that says that it loads."""
        return self._loading_timeout

    def takes_no_connection(self, error: Exception) -> bool:
        """Whether a local server is not there, by what the wire raised."""
        refused = isinstance(error, aiohttp.ClientConnectorError) and not isinstance(
            error, aiohttp.ClientSSLError
        )
        return self.is_local and refused

    async def look(self, within: float = PROBE_EVERY) -> Sign:
        """Asks for one sign of life, which comes `within` so many seconds. Raises nothing."""
        try:
            async with asyncio.timeout(within):
                response = await self._wire.send(self._health, b"")
                status = response.status
                await whole_body(response)
        except TimeoutError:
            return "silent"
        except Exception:  # noqa: BLE001 - the boundary: all that the wire raises means the same here
            return "gone"
        self.has_answered = True
        return "alive" if 200 <= status < 300 else "loading" if status == 503 else "unknown"

    async def started(self, seconds: float) -> None:
        """Returns when the server answers and does not say that it loads, or after `seconds`."""
        loop, delay = asyncio.get_running_loop(), FIRST_DELAY
        until = loop.time() + seconds
        while (left := until - loop.time()) > 0:
            await asyncio.sleep(min(delay, left))
            delay = min(2 * delay, LAST_DELAY)
            if await self.look() in {"alive", "unknown"}:
                return


class FirstByteWait:
    """The wait for a local endpoint's first byte, `since` a time of the loop. The `times` are in seconds:
    after the first of them it is asked for signs of life, and `expire` is called when it is gone, or when
    it gives none and the second of them is over. Once it `has_begun` to answer, nothing is asked any
    more."""

    def __init__(
        self,
        liveness: EndpointLiveness,
        since: float,
        times: tuple[float, float],
        expire: Callable[[], None],
        has_begun: Callable[[], bool],
    ) -> None:
        self._liveness, self._expire, self._has_begun = liveness, expire, has_begun
        patience, longest = times
        self._until = since + longest
        self._within = min(PROBE_EVERY, patience)
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_at(since + patience, self._begin)

    def stop(self) -> None:
        """The first byte came, or nobody waits any more."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        if not self._has_begun():
            self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        loop, missed = asyncio.get_running_loop(), 0
        while not self._has_begun():
            sign = await self._liveness.look(self._within)
            missed = missed + 1 if sign == "gone" else 0
            has_time = sign in {"alive", "loading"} or loop.time() < self._until
            if missed >= MISSED or not has_time:
                if not self._has_begun():
                    self._expire()
                return
            await asyncio.sleep(FIRST_DELAY if missed else self._within)
