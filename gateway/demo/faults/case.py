"""What a fault is: a name, how a good client must take it, and the script it plays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.demo.connection import Act
from gateway.demo.wire import Reply


@dataclass(frozen=True, slots=True)
class Case:
    """One request that is to be answered wrongly: the right reply, the directive's argument, and the names of
    the tools the request offers."""

    reply: Reply
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


@dataclass(frozen=True, slots=True)
class Fault:
    """`expected` is the in-stream code a client must report (docs/events.md), or "ok" when it must cope and
    complete; `retryable` says whether another attempt may help. `streams_only` faults have no meaning
    for a request that does not stream."""

    name: str
    description: str
    expected: str
    retryable: bool
    play: Callable[[Case], Sequence[Act]]
    streams_only: bool = True
