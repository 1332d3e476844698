"""The line before an endpoint that answers few requests at once: turns in a fair order, then background
calls.

An endpoint of one slot that is sent two requests keeps the second one silent until the first has its end,
and goes on with requests whose sender has left. So the others wait here, where they cost nothing, can be
cancelled at once, and their time limits begin when they are sent. An endpoint without a known number of
slots has no line.
"""

import asyncio
from bisect import insort
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from gateway.bounded_dict import BoundedDict
from gateway.errors import ModelError
from gateway.model.endpoint_facts import EndpointFacts

MAX_WAITING = 1000
"""Turns in the line, and as many background calls."""
MAX_OF_ONE = MAX_WAITING // 2
"""Of these, as many of one user's, who cannot take the places of all."""
QUIET = 2.0
"""Seconds without the call of a turn before the one slot of an endpoint is given to a background call: the
next message may follow at once, and the endpoint still has the conversation in its cache."""
BACKGROUND_PATIENCE = 3600.0
"""Seconds that a background call waits for a quiet moment, unless it has less time."""
LOOK_EVERY = 1.0
"""Seconds between two looks at the number of slots, while somebody waits."""
MAX_OWNERS = 1000
"""Users whose share in the line is remembered."""

Kind = Literal["turn", "background"]


class GaveWay(Exception):
    """A background call was stopped, as a turn waits for its slot. It is to be made again."""


@dataclass(slots=True, eq=False)
class Ticket:
    """One request: it waits in the line until `granted`, then it has a slot until it leaves. `rank` is its
    place in the order of turns, and stays with the call when it is repeated."""

    kind: Kind
    rank: tuple[int, int]
    owner: str | None
    joined_at: float
    granted: bool = False
    stopped: bool = False
    stop: Callable[[], None] | None = None
    future: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def __lt__(self, other: "Ticket") -> bool:
        return self.rank < other.rank

    async def turn_comes(self, seconds: float | None = None) -> bool:
        """Waits until it is granted, at most for `seconds`; whether it is."""
        if not self.granted:
            await asyncio.wait((self.future,), timeout=seconds)
        return self.granted


class EndpointQueue:
    """One for each endpoint in a process. `slots` wins over what the endpoint says of itself (`facts`),
    which may change at any time. `on_wait` is given the kind and the seconds of each wait that is over,
    also when it was given up."""

    def __init__(self, facts: EndpointFacts, slots: int | None = None, *, quiet: float = QUIET) -> None:
        self.on_wait: Callable[[Kind, float], None] = lambda _kind, _seconds: None
        self.quiet = quiet
        self._facts, self._slots = facts, slots
        self._turns: list[Ticket] = []
        self._background: list[Ticket] = []
        self._running: list[Ticket] = []
        self._round = self._number = 0
        self._last_round = BoundedDict[str | None, int](MAX_OWNERS)
        self._busy_until = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def slots(self) -> int | None:
        """How many requests the endpoint is sent at once; None: as many as there are."""
        slots = self._slots or self._facts.slots
        return slots if slots is not None and slots > 0 else None

    def waiting(self, kind: Kind) -> int:
        """Requests in the line."""
        return len(self._turns if kind == "turn" else self._background)

    @property
    def taken(self) -> int:
        """Requests that have a slot."""
        return len(self._running)

    def join(self, owner: str | None, *, rank: tuple[int, int] | None = None) -> Ticket:
        """A ticket of a turn, or of a call that somebody waits for; `rank` is that of its former attempt.
        Users have their requests answered in rotation, each user's in their order.

        Raises:
            ModelError: too many wait already (upstream_overloaded).
        """
        self._check_length(self._turns, owner)
        if rank is None:
            last = self._last_round.get(owner, -1)
            rank = max(self._round, last + 1), self._next_number()
            self._last_round[owner] = rank[0]
        ticket = Ticket("turn", rank, owner, _now())
        insort(self._turns, ticket)
        self._look()
        return ticket

    def join_background(self, owner: str | None) -> Ticket:
        """A ticket of a call that nobody waits for. Raises ModelError as `join` does."""
        self._check_length(self._background, owner)
        ticket = Ticket("background", (0, self._next_number()), owner, _now())
        self._background.append(ticket)
        self._look()
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """Gives its slot back, or its place in the line. Idempotent."""
        if ticket in self._running:
            self._running.remove(ticket)
            if ticket.kind == "turn":
                self._busy_until = _now() + self.quiet
        else:
            line = self._turns if ticket.kind == "turn" else self._background
            if ticket not in line:
                return
            line.remove(ticket)
            if self._last_round.get(ticket.owner) == ticket.rank[0]:
                self._last_round[ticket.owner] = ticket.rank[0] - 1
            self.on_wait(ticket.kind, _now() - ticket.joined_at)
        self._look()

    def before(self, ticket: Ticket) -> int:
        """How many requests have to end before that one is sent, as far as it is known."""
        return self._turns.index(ticket) + 1 if ticket in self._turns else 0

    @asynccontextmanager
    async def in_turn(self, owner: str | None, patience: float) -> AsyncGenerator[Ticket]:
        """A slot for what is done inside, which somebody waits for, within `patience` seconds. Raises
        ModelError: there was none, or too many wait (upstream_overloaded)."""
        ticket = self.join(owner)
        try:
            if not await ticket.turn_comes(patience):
                raise _overloaded(f"was busy with others for {patience:g} seconds")
            yield ticket
        finally:
            self.leave(ticket)

    @asynccontextmanager
    async def in_background(
        self, owner: str | None, patience: float = BACKGROUND_PATIENCE
    ) -> AsyncGenerator[Ticket]:
        """A slot, in a quiet moment within `patience` seconds, for what is done inside.

        Raises:
            GaveWay: a turn needed the slot, and what was done inside was cancelled.
            ModelError: there was no quiet moment, or too many wait (upstream_overloaded).
        """
        ticket = self.join_background(owner)
        loop, scope = asyncio.get_running_loop(), asyncio.timeout(None)
        try:
            if not await ticket.turn_comes(patience):
                raise _overloaded(f"was busy with turns for {patience:g} seconds")
            async with scope:
                ticket.stop = lambda: scope.reschedule(loop.time())
                if ticket.stopped:
                    ticket.stop()
                yield ticket
        except TimeoutError:
            if scope.expired():
                raise GaveWay from None
            raise
        finally:
            ticket.stop = None
            self.leave(ticket)

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    @staticmethod
    def _check_length(line: list[Ticket], owner: str | None) -> None:
        if len(line) >= MAX_WAITING:
            raise _overloaded(f"has {len(line)} requests waiting for it")
        own = sum(each.owner == owner for each in line) if len(line) >= MAX_OF_ONE else 0
        if own >= MAX_OF_ONE:
            raise _overloaded(f"has {own} requests of this user waiting for it")

    def _look(self) -> None:
        """Gives free slots away, and asks background calls to end where a turn waits for one."""
        slots = self.slots
        while self._turns and (slots is None or len(self._running) < slots):
            ticket = self._turns.pop(0)
            self._round = max(self._round, ticket.rank[0])
            self._grant(ticket)
        if self._turns:
            self._stop_background(len(self._turns))
        while self._background and self._is_quiet(slots):
            self._grant(self._background.pop(0))
        self._set_timer(slots)

    def _grant(self, ticket: Ticket) -> None:
        self._running.append(ticket)
        ticket.granted = True
        ticket.future.set_result(None)
        self.on_wait(ticket.kind, _now() - ticket.joined_at)

    def _is_quiet(self, slots: int | None) -> bool:
        """Whether a background call may begin. Of several slots one stays free for the next turn."""
        if slots is None:
            return True
        if self._turns:
            return False
        if slots == 1:
            return not self._running and self._busy_until <= _now()
        return len(self._running) < slots - 1

    def _stop_background(self, wanted: int) -> None:
        stoppable = [each for each in self._running if each.kind == "background"]
        wanted -= sum(each.stopped for each in stoppable)
        for ticket in reversed(stoppable):
            if wanted <= 0:
                return
            if not ticket.stopped:
                ticket.stopped, wanted = True, wanted - 1
                if ticket.stop is not None:
                    ticket.stop()

    def _set_timer(self, slots: int | None) -> None:
        """Nobody says when the number of slots has changed, or a moment is quiet: while somebody waits it is
        looked."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._turns and not self._background:
            return
        delay = LOOK_EVERY
        if slots == 1 and self._background and not self._turns and not self._running:
            delay = min(max(self._busy_until - _now(), 0.001), LOOK_EVERY)
        self._timer = asyncio.get_running_loop().call_later(delay, self._look)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _overloaded(how: str) -> ModelError:
    return ModelError(f"The model's endpoint {how}.", code="upstream_overloaded", retryable=True)
