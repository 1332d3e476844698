"""The storage contract of replicas, the processes that share a store: which turns each runs, and for how
long.

replica     the process, as it is named in the rows of the turns that it runs: their lease holder
beat        shows the others that it lives, and finds turns without a lease holder
lease       how long the others wait for the next beat before they take its turns over
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Protocol

from gateway.storage.turns import Accepted, OwnedTurn

SAFE_SHARE = 0.7
"""Share of a lease after which its holder begins nothing any more. What is left is for clocks that do not run
at the same speed, and for what began a moment before."""
CERTAIN_SHARE = 0.9
"""Share of the time after which a replica may count as dead, for which it is certain that it does not."""


NOTHING: Mapping[str, str] = {}


class Lease:
    """How long this process may count on its turns, by its own clock. `seconds` after its last
    renewal others take its turns over, and after `unseen` where its connections to the server ended; None:
    never."""

    def __init__(self, seconds: float | None = None, unseen: float | None = None) -> None:
        self.handing_over = False
        """Whether turns end their part here at their next step, for another replica to go on with them."""
        self._seconds = seconds
        self._unseen = seconds if unseen is None else unseen
        self._ends = self._certain_until = self._renewed_at = monotonic()
        self._renewed = asyncio.Event()

    @property
    def age(self) -> float:
        """Seconds since the sign of life that renewed it last; 0 where no other would take its turns over."""
        return monotonic() - self._renewed_at if self._seconds is not None else 0

    @property
    def is_held(self) -> bool:
        """Whether what reaches others may begin: a model call, a tool."""
        return self._seconds is None or monotonic() < self._ends

    @property
    def is_certain(self) -> bool:
        """Whether no other replica can have taken over what this process had when it was renewed, even if
        its connections were lost since."""
        return self._unseen is None or monotonic() < self._certain_until

    def renew(self, asked_at: float) -> None:
        """The others know of a sign of life that was given at `asked_at` of the monotonic clock or later."""
        self._renewed_at = asked_at
        self._ends = asked_at + (self._seconds or 0) * SAFE_SHARE
        self._certain_until = asked_at + (self._unseen or 0) * CERTAIN_SHARE
        self._renewed.set()

    async def renewed(self) -> None:
        """Returns once it is held."""
        while not self.is_held:
            self._renewed.clear()
            await self._renewed.wait()


@dataclass(frozen=True, slots=True)
class Peer:
    """Another replica that lives. `about` is its own description: its version, its schema, its lease, and
    digests of what it read from folders. `timeline` is that of the server it writes to, `unseen` the seconds
    since its last beat."""

    id: str
    about: Mapping[str, str]
    timeline: int | None
    draining: bool
    unseen: float


@dataclass(frozen=True, slots=True)
class Beat:
    """What a replica learns from a beat.

    `taken`: turns that had no living lease holder; this replica has them from now on. `owned`: all its turns.
    `cancelled`: those of them that shall stop. `waiting`: sessions in which turns wait and none is open.
    `undelivered`: sessions with something in the outbox that no turn is there to write. `queued`: how many
    turns, of all sessions, wait for those before them. `peers`: the other replicas. `timeline`: grows with
    each failover of the server; None where there is no such thing.
    """

    taken: Sequence[Accepted] = ()
    owned: Sequence[OwnedTurn] = ()
    cancelled: Sequence[str] = ()
    waiting: Sequence[str] = ()
    undelivered: Sequence[str] = ()
    queued: int = 0
    peers: Sequence[Peer] = ()
    timeline: int | None = None


@dataclass(frozen=True, slots=True)
class SharedServer:
    """A server as it is found: its `version`; in what its schema is `newer` than this version, which may work
    on it (`EventDatabase.newer_schema`); whether it takes no writes; whether a commit waits for a standby,
    and for the disk; whether a commit gives up that waits for a session's lock, which behind a pooler must be
    configured; how many seconds its clock is ahead of this machine's; the replicas that live."""

    version: str
    newer: Mapping[str, str]
    read_only: bool
    has_standby: bool
    is_durable: bool
    gives_up: bool
    clock_ahead: float
    replicas: Sequence[Peer]


class Replicas(Protocol):
    """This process among those that share the store."""

    lease: Lease
    every: float
    """Seconds between two beats."""
    about: Mapping[str, str]
    """What is to be the same with all that share the store, as far as it is the store's."""

    async def beat(self, *, slots: int, draining: bool = False, about: Mapping[str, str] = NOTHING) -> Beat:
        """Renews the lease, and takes at most `slots` turns over whose owner is dead or released them: its
        appends are refused from then on. Where it was lost, the turn's `recoveries` count it. The others can
        read `about` this replica, and whether it is `draining`.

        Raises:
            errors.StorageError: nothing was renewed or taken, or that is unknown.
        """
        ...

    async def release(self, turn: OwnedTurn) -> None:
        """Leaves a turn to the next replica, which takes it over without counting a loss. Nothing happens
        when it is not this replica's any more, or suspended. Raises errors.StorageError."""
        ...

    async def leave(self) -> None:
        """Hands over all turns of this replica; there is no other beat. Raises errors.StorageError."""
        ...
