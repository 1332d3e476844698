"""What a fault works on: one request that is to be answered wrongly, and the parts of its right answer."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gateway.demo import wire
from gateway.demo.connection import Act, head
from gateway.demo.wire import DemoReply, Event, block_start, block_stop, text_block

HEAD = head(200, wire.SSE_HEADERS)
START, STOP = block_start(0, text_block("")), block_stop(0)


@dataclass(frozen=True, slots=True)
class Case:
    """One request that is to be answered wrongly: the right reply, the directive's argument, and the names of
    the tools the request offers."""

    reply: DemoReply
    argument: str | None = None
    tools: Sequence[str] = ()

    def number(self, default: float) -> float:
        """The argument as a number.

        Raises:
            ValueError: it is none, or it is not between 0 and 10 million.
        """
        number = default if self.argument is None else float(self.argument)
        if not 0 <= number <= 10_000_000:
            raise ValueError(f"{self.argument} is out of range")
        return number

    @property
    def events(self) -> list[Event]:
        """The events of the right reply."""
        return wire.events(self.reply)

    def half(self) -> list[Event]:
        """The events of the right reply up to the middle of its pieces."""
        events = self.events
        return events[: (len(events) + 1) // 2 + 1]

    def amid(self, *novelties: Event) -> list[Event]:
        """The right reply with `novelties` in the middle of its text."""
        begun = self.half()
        return [*begun, *novelties, *self.events[len(begun) :]]

    def sent(self, events: Iterable[Event], *after: Act) -> list[Act]:
        """These events as the body, and what happens then."""
        return [HEAD, *wire.acts(events, self.reply.pace), *after]


Play = Callable[[Case], Sequence[Act]]


def joined(events: Iterable[Event]) -> bytes:
    """The bytes of a stream's body, without chunks."""
    return b"".join(part for part in map(wire.frame, events) if isinstance(part, bytes))


def streamed(events: Callable[[Case], Iterable[Event]]) -> Play:
    return lambda case: wire.stream(case.reply, events(case))
