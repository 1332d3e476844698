"""The loop in which a process asks the database what it has to do: turns that it takes over from a replica
that is gone or hands them over, turns to stop, sessions to go on with. It hands all to `in_flight`.

lost, handed-over turns ──▶ recover     sessions where turns only wait ──▶ queue
turns to be stopped     ──▶ cancel      what is left in the outbox     ──▶ deliver_left
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress

import structlog

from gateway import __version__
from gateway.errors import StorageError
from gateway.storage.replicas import NOTHING, Peer
from gateway.storage.turns import OwnedTurn
from gateway.turn.dependencies import TurnDependencies
from gateway.turn.in_flight import InFlight
from gateway.turn.observer import ids_of
from gateway.turn.turn_prompt import Prompt

COMPARED = "settings"
"""What a replica tells beside its settings: that it does."""

log = structlog.get_logger(__name__)


class ReplicaHeartbeat:
    """One per process."""

    def __init__(
        self, deps: TurnDependencies, in_flight: InFlight, settings: Mapping[str, str] | None = None
    ) -> None:
        """`settings` are digests of those that replicas must have in common, by name; None: none are told."""
        self.queued = 0
        """Accepted turns, of all sessions, that wait for those before them, as of the last look."""
        self.peers: Sequence[Peer] = ()
        """The other replicas that live, as of the last look."""
        self.differences: Sequence[str] = []
        """What is not the same with all of them: version, schema, lease, prompts, skills, and the settings
        that must be."""
        self._settings = {COMPARED: "by digest", **settings} if settings is not None else NOTHING
        self.taken_over = Counter[str](lost=0, released=0)
        """Turns that this replica took over, by why they had no owner."""
        self._described: tuple[Prompt, Mapping[str, str]] | None = None
        self._timeline: int | None = None
        self._went_back = False
        self._deps = deps
        self._replicas = deps.replicas
        self._in_flight = in_flight
        self._suspects: set[OwnedTurn] = set()
        self._woken = asyncio.Event()
        self._left = False
        deps.signals.on("released", lambda _: self.wake())

    def wake(self) -> None:
        """A turn was released, or its owner died: the next look is at once."""
        self._woken.set()

    async def run(self) -> None:
        """Looks for as long as the process lives, also while it drains: a turn that ends here is this
        replica's until then."""
        while not self._left:
            try:
                await self.beat()
            except StorageError as error:
                log.warning("ownership_not_looked_at", code=error.code, error=str(error))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), self._replicas.every)
            self._woken.clear()

    async def leave(self) -> None:
        """Shutdown, when no task is left: what is still this replica's is released."""
        self._left = True
        try:
            await self._replicas.leave()
        except StorageError as error:  # it is taken over when the lease is over
            log.warning("turns_not_released", code=error.code, error=str(error))

    async def beat(self) -> None:
        """One look, which is this replica's sign of life. Raises StorageError."""
        in_flight = self._in_flight
        draining = in_flight.draining.is_set()
        slots = 0 if draining else in_flight.free_slots
        prompts = self._prompt_digests()
        about = {"version": __version__, **self._replicas.about, **prompts, **self._settings}
        found = await self._replicas.beat(slots=slots, draining=draining, about=about)
        self.queued, self.peers = found.queued, found.peers
        in_flight.peer_count = sum(not peer.draining for peer in found.peers)
        self._compare(about, [peer.about for peer in found.peers if peer.about])  # not before its first beat
        self._see(found.timeline)
        for accepted in found.taken:
            self.taken_over["lost" if accepted.recovered else "released"] += 1
            log.info("turn_recovered", **ids_of(accepted.turn))
            in_flight.recover(accepted)
        for turn_id in found.cancelled:
            in_flight.cancel(turn_id)
        if draining:
            return
        for session_id in found.waiting:  # what finds no place here may find one elsewhere, or later
            if not in_flight.free_slots:
                break
            in_flight.queue(session_id)
        in_flight.deliver_left(found.undelivered)
        orphans = {turn for turn in found.owned if not in_flight.runs(turn.turn_id)}
        # At the first look it may have been accepted a moment ago.
        for turn in orphans & self._suspects:
            await self._reclaim(turn)
        self._suspects = orphans

    def _compare(self, about: Mapping[str, str], peers: Sequence[Mapping[str, str]]) -> None:
        """Notes in what others are not as this one, and logs it when that has changed."""
        found = set[str]()
        for peer in peers:
            # One of a version that does not tell its settings has none of its own, as far as is known.
            names = about.keys() | peer.keys() if COMPARED in peer else about.keys() - self._settings.keys()
            found |= {name for name in names if peer.get(name) != about.get(name)}
        former, self.differences = self.differences, sorted(found)
        if self.differences and self.differences != former:
            log.warning("replicas_differ", differ=self.differences)
        elif self.differences != former:
            log.info("replicas_agree")

    def _prompt_digests(self) -> Mapping[str, str]:
        """Cached until components or catalog change: with many tools it takes milliseconds."""
        prompt, former = Prompt.read(self._deps), self._described
        if former is None or (former[0].catalog, former[0].components) != (prompt.catalog, prompt.components):
            former = self._described = prompt, prompt.description()
        return former[1]

    async def check(self) -> None:
        """Raises errors.StorageError: the database server that answers is no longer the primary one."""
        if self._went_back:
            raise StorageError(
                "The database's server is on an older timeline than before: another one was promoted.",
                code="database_superseded",
            )

    def _see(self, timeline: int | None) -> None:
        if timeline is None:
            return
        former, self._timeline = self._timeline, max(timeline, self._timeline or 0)
        self._went_back = timeline < self._timeline
        if former is not None and timeline != former:
            log.warning("database_failed_over", timeline=timeline, former=former)

    async def _reclaim(self, turn: OwnedTurn) -> None:
        """A turn of this process whose task is gone, of which there should be none."""
        accepted = await self._deps.turns.take_over(turn.turn_id, recovered=True)
        if accepted is not None:
            log.error("turn_without_owner", **ids_of(accepted.turn))
            self._in_flight.recover(accepted)
