"""The JSON of a request, read within bounds of time and memory: whoever sends it chooses its size, and nobody
else waits for it."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar
from weakref import WeakKeyDictionary

import orjson

from gateway.errors import InvalidRequest, QueueFull, TooLarge
from gateway.json_parts import PartCounter
from gateway.places import Places, PlaceTimeout

T = TypeVar("T")

MAX_READ_INLINE = 65_536
"""Bytes of JSON that are parsed and checked on the event loop: some milliseconds."""
MAX_PARTS = 100_000
"""Objects, lists and values of one body: 60 MB, and 20 ms in which nothing else of the process runs, as the
parser keeps Python's lock. A conversation of 10,000 messages has 60,000, a file in base64 one."""
MAX_CONCURRENT = 2
"""Large bodies that are parsed and checked at the same time; others wait."""
PARSE_TIMEOUT = 20.0
"""Seconds that one waits for its place."""
MAX_HELD = 268_435_456
"""Bytes of all large bodies together that are being received or wait."""
MAX_HELD_BY_USER = MAX_HELD // 4
"""Bytes of those of one user. One body that its route allows may always be larger."""


class BodyBuffer:
    """The bytes of one body, as they come in."""

    def __init__(self, large: "LargeBodies", user: str, max_parts: int) -> None:
        self._large = large
        self._user = user
        self._max_parts = max_parts
        self._raw = bytearray()
        self._parts = PartCounter(with_values=True)
        self.held = 0

    def add(self, chunk: bytes) -> None:
        """Raises TooLarge where it has come to too many parts, QueueFull where too much is held."""
        self._raw += chunk
        if len(self._raw) <= MAX_READ_INLINE:
            return
        new = len(self._raw) - self.held
        self._large.hold(self._user, self, new)
        counted = chunk if new == len(chunk) else self._raw
        if self._parts.add(counted) > self._max_parts:
            raise TooLarge(
                f"The body has more than {self._max_parts:,} objects, lists and values.",
                details={"max_parts": self._max_parts},
            )

    async def read(self, check: Callable[[dict[str, object]], T]) -> T:
        """What `check` makes of the JSON object that it is; nothing at all counts as {}. A large one is
        parsed and checked in a thread.

        Raises:
            InvalidRequest: it is no JSON object, or what `check` raises.
            QueueFull: others were read for so long.
        """
        if len(self._raw) <= MAX_READ_INLINE:
            return self._checked(check)
        async with self._large.place():
            return await asyncio.to_thread(self._checked, check)

    def _checked(self, check: Callable[[dict[str, object]], T]) -> T:
        try:
            value = orjson.loads(self._raw or b"{}")
            orjson.dumps(
                value
            )  # what is read may also be written: it reads what is nested four times as deep
        except (orjson.JSONDecodeError, orjson.JSONEncodeError) as error:
            if "not valid UTF-8" in str(error):
                raise InvalidRequest(
                    "The body is not valid JSON: it is not in UTF-8, and its Content-Type names no other "
                    "charset (charset=gbk, …)."
                ) from None
            raise InvalidRequest(f"The body is not valid JSON: {error}") from None
        self._raw.clear()
        if not isinstance(value, dict):
            raise InvalidRequest("The body must be a JSON object.")
        return check(value)


class LargeBodies:
    """The large bodies that an event loop receives at the moment."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()

    @contextmanager
    def receive(self, user: str, max_parts: int = MAX_PARTS) -> Generator[BodyBuffer]:
        """A buffer for a body of `user`; what it holds counts until the context is left."""
        body = BodyBuffer(self, user, max_parts)
        try:
            yield body
        finally:
            if body.held:
                self._held[user] -= body.held
                self._held += Counter()  # without those that hold nothing

    def hold(self, user: str, body: BodyBuffer, size: int) -> None:
        """Counts `size` more bytes of a body. Raises QueueFull."""
        others = self._held[user] - body.held
        if self._held.total() + size > MAX_HELD or (others and others + body.held + size > MAX_HELD_BY_USER):
            raise QueueFull("Too many large requests at once: try again.", code="server_busy")
        body.held += size
        self._held[user] += size

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None]:
        """A place for parsing, until the context is left. Raises QueueFull."""
        try:
            async with _places.one(PARSE_TIMEOUT):
                yield
        except PlaceTimeout:
            raise QueueFull("Other large requests are being read: try again.", code="server_busy") from None


_places = Places(MAX_CONCURRENT)
_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, LargeBodies] = WeakKeyDictionary()


def large_bodies() -> LargeBodies:
    """The large bodies of the event loop that runs."""
    return _of_loops.setdefault(asyncio.get_running_loop(), LargeBodies())
