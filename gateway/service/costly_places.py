"""Places for operations that cost more than a look at some rows: so many of a kind at a time, so many of one
user. Turns take none, so that they never wait behind these.

    a request of the kind ──▶ one of the user's own places ──▶ one of all ──▶ it runs
                     else it waits, WAIT seconds at most, among MAX_WAITING of the user, or is refused

While its client is waited for, which sends a body or takes a file, others may have its place of all: who
sends or takes slowly keeps their own only.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeVar, get_args

from gateway.errors import QueueFull
from gateway.places import Places, PlaceTimeout

T = TypeVar("T")

Costly = Literal["search", "copy", "import", "model", "extract", "assemble", "deliver"]
"""search: looks through all sessions, turns or memories of a user. copy: reads whole sessions, or all that
somebody has. import: makes them of a file. model: asks a model, or an MCP server, beside any turn. extract:
looks into an artifact. assemble: puts a prompt together, or reads folders anew. deliver: posts to an address
of a user."""

COSTLY: tuple[Costly, ...] = get_args(Costly)

WAIT = 10.0
"""Seconds that a request waits for a place."""
MAX_WAITING = 20
"""Requests of one user and kind that wait: what a page with several tabs asks at once."""
RETRY_AFTER = 5
"""Seconds after which a request that was refused is worth another try."""


class PlaceCounts(NamedTuple):
    """Places of a kind, and how many of them one user may have."""

    all: int
    of_user: int


PLACES: Mapping[Costly, PlaceCounts] = MappingProxyType(
    {
        "search": PlaceCounts(4, 2),  # one processor's worth: sessions are searched one at a time
        "copy": PlaceCounts(8, 2),
        "import": PlaceCounts(4, 2),
        "model": PlaceCounts(32, 4),  # they wait for the endpoint and cost little here
        "extract": PlaceCounts(4, 2),
        "assemble": PlaceCounts(4, 2),
        "deliver": PlaceCounts(16, 2),
    }
)


@dataclass(slots=True)
class _Own:
    """The places of one user and kind, and how many requests have or want one."""

    free: Places
    asking: int = 0


@dataclass(slots=True)
class _Kind:
    free: Places
    own: dict[str, _Own] = field(default_factory=dict[str, _Own])


class Place:
    """One of all that somebody has."""

    def __init__(self, places: Places) -> None:
        """`places` are what it was taken of."""
        self._places = places
        self._is_held = True

    def give_back(self) -> None:
        """Others may have it."""
        if self._is_held:
            self._is_held = False
            self._places.give_back()

    @asynccontextmanager
    async def aside(self) -> AsyncGenerator[None]:
        """Others may have it until the context is left; then one is waited for, as long as it takes: none of
        those that have one waits for a client."""
        self.give_back()
        yield
        await self._places.take(None)
        self._is_held = True

    async def made(self, chunks: AsyncGenerator[T]) -> AsyncGenerator[T]:
        """The same, each made while the place is had, and not had while it is sent."""
        async with aclosing(chunks):
            async for chunk in chunks:
                async with self.aside():
                    yield chunk


class CostlyPlaces:
    """The places of a process, which has one of these."""

    def __init__(self, places: Mapping[Costly, PlaceCounts] = PLACES) -> None:
        self._places = places
        self._kinds = {kind: _Kind(Places(each.all)) for kind, each in places.items()}

    @asynccontextmanager
    async def taken(self, kind: Costly, user_id: str) -> AsyncGenerator[Place]:
        """A place of that kind for the user, until the context is left. Raises errors.QueueFull
        (operation_busy): there was none in time."""
        places, all_of_kind = self._places[kind], self._kinds[kind]
        own = all_of_kind.own.setdefault(user_id, _Own(Places(places.of_user)))
        if own.asking >= places.of_user + MAX_WAITING:
            raise _busy(kind, f"{own.asking} of yours run or wait already")
        own.asking += 1
        try:
            await _take(kind, own.free, f"{places.of_user} of yours are running")
            try:
                await _take(kind, all_of_kind.free, f"{places.all} are running")
                place = Place(all_of_kind.free)
                try:
                    yield place
                finally:
                    place.give_back()
            finally:
                own.free.give_back()
        finally:
            own.asking -= 1
            if not own.asking:
                del all_of_kind.own[user_id]


async def _take(kind: Costly, places: Places, why: str) -> None:
    try:
        await places.take(WAIT)
    except PlaceTimeout:
        raise _busy(kind, why) from None


def _busy(kind: Costly, why: str) -> QueueFull:
    return QueueFull(
        f"Too many requests of this kind ({kind}) at the same time: {why}. Try again in a moment.",
        code="operation_busy",
        details={"operation": kind, "retry_after": RETRY_AFTER},
    )
