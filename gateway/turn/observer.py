"""Observers of turns, and the ids that tie a turn to its trace."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gateway.events.envelope import StoredEvent
from gateway.ids import root_span_id, span_id_of, trace_id_of
from gateway.storage.turns import TurnRow


class TurnObserver(Protocol):
    """Called for every turn before its first event in this process; the events themselves it reads from the
    bus."""

    def replay(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """Events of the turn under a former lease holder, in order, in one or several calls."""
        ...

    def take_up(self, turn: TurnRow) -> None:
        """The turn runs here from now on; `replay` has had its earlier events."""
        ...


class NullObserver:
    """Ignores every turn."""

    def replay(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        pass

    def take_up(self, turn: TurnRow) -> None:
        pass


class CompositeObserver:
    """Calls several observers, in their order."""

    def __init__(self, *observers: TurnObserver) -> None:
        self._observers = observers

    def replay(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        for observer in self._observers:
            observer.replay(session_id, events)

    def take_up(self, turn: TurnRow) -> None:
        for observer in self._observers:
            observer.take_up(turn)


@dataclass(frozen=True, slots=True)
class Tracing:
    """How events and tools refer to a turn's trace. `recorded`: traces are exported; `url`: a template with
    `{trace_id}` in it."""

    recorded: bool = False
    url: str | None = None

    def url_of(self, trace_id: str) -> str | None:
        """Where people can look at the trace."""
        return self.url.replace("{trace_id}", trace_id) if self.url is not None else None

    def traceparent(self, trace_id: str | None, tool_call_id: str) -> str | None:
        """The span of a tool call in the form of W3C Trace Context, level 1."""
        if not self.recorded or trace_id is None:
            return None
        return f"00-{trace_id}-{span_id_of(trace_id, f'tool_call {tool_call_id}')}-01"


def ids_of(turn: TurnRow) -> dict[str, str]:
    """What ties a log line to the turn, its events and its trace."""
    trace_id = trace_id_of(turn.id)
    ids = {
        "session_id": turn.session_id,
        "turn_id": turn.id,
        "trace_id": trace_id,
        "span_id": root_span_id(trace_id),
    }
    return ids if turn.dialect is None else {**ids, "dialect": turn.dialect}
