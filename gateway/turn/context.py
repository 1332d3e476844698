"""What a step of a turn works with. A step is a function that takes it, and what is really an argument."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gateway.events.calls import ToolResult
from gateway.history.transcript import stored_next, view
from gateway.memory.learning.user_messages import user_text
from gateway.memory.recall import InContext
from gateway.messages import Message, Usage
from gateway.prompt.assemble import Prefix
from gateway.storage.memories import MemoryRow
from gateway.storage.messages import History, StoredMessage
from gateway.tools.base import Said
from gateway.tools.registry import Tools
from gateway.turn.emitter import Emitter
from gateway.turn.finalize import Limits
from gateway.turn.parts import TurnParts
from gateway.turn.prompt import Prompt


@dataclass(slots=True)
class MemoryState:
    """What a turn knows of the memories: those that the session was told, as they are now (`rows`), and how
    much of each (`known`). `outdated`: some of what it was told is no longer so, `gone` are those that were
    recalled. `unavailable`: the memory could not be read; `empty`: it has nothing for the user, and the
    session was told nothing."""

    rows: Sequence[MemoryRow] = ()
    known: InContext = field(default_factory=InContext)
    gone: frozenset[str] = frozenset()
    outdated: bool = False
    unavailable: bool = False
    empty: bool = False


class TurnContext:
    """One turn that runs: its row, the emitter that its events and messages leave by (`emit` is short for the
    emitter's), how far it has come, the session's history as the model is told it, and the collaborators.

    `history`, `messages` (its view), `tools` (what may be called) and `prefix` (what comes before the
    messages) belong together, and are there once the turn is prepared: `use` sets them. `at_hand` is the
    history as it was read when the turn was accepted, if it was.

    What lasts for one turn only, each written by the one module that it is named after:
    `memories`: what the turn knows of the memories (memories.py).
    `withheld`: files that are not shown in this turn, as the endpoint refused a request with them;
    `not_shown`: what was said of files that cannot be shown; `shows_all`: whether the newest request shows
    every file that its messages name (attachments.py).
    `incompressible`: no compression is tried any more; `overflowed`: the endpoint has found the view too long
    (compression.py).
    """

    history: History
    messages: list[Message]
    tools: Tools
    prefix: Prefix

    def __init__(
        self, parts: TurnParts, emitter: Emitter, limits: Limits, at_hand: History | None = None
    ) -> None:
        self.parts = parts
        self.settings = parts.settings
        self.limits = limits
        self.emitter = emitter
        self.emit = emitter.emit
        self.at_hand = at_hand
        self.row = emitter.turn
        self.progress = emitter.progress
        self.prompt = Prompt.read(parts)
        self.memories = MemoryState()
        self.withheld: frozenset[str] = frozenset()
        self.not_shown: set[str] = set()
        self.shows_all = True
        self.incompressible = False
        self.overflowed = False
        self._stored: list[StoredMessage] = []

    def use(self, history: History) -> None:
        """From now on this is what the model is told."""
        self._stored = list(history.messages)
        self.history = replace(history, messages=self._stored)
        self.messages = view(history)
        self.tools = self.prompt.tools(compressed=history.compression is not None)
        self.prefix = self.prompt.prefix(history)

    def add(self, message: Message, usage: Usage | None = None) -> None:
        """What the model said (`usage` is of that call), or what tools answered, joins the history."""
        self.messages.append(message)
        self._stored.append(stored_next(self._stored, self.row.id, message, usage))

    def answer(self, call_id: str, result: ToolResult) -> None:
        """Emits the one result of a call; with the last one the message that answers all is recorded."""
        self.emit(result, tool_call_id=call_id, message=self.progress.answers_with(call_id, result))

    def said(self) -> Sequence[Said]:
        """What the user said in the session, as far as the model sees it."""
        return said_in(self.history)


def said_in(history: History) -> list[Said]:
    """What the user said themselves, as far as it is in the view word for word, in order."""
    told = [Said(item.position, user_text(item.message)) for item in history.messages]
    return [each for each in told if each.text]
