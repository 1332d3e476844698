"""What the model is told in a turn: the session's view, grown by what the turn adds, loaded anew when it was
compressed meanwhile."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from gateway.history.transcript import fold, problems, view
from gateway.messages import Message, Usage
from gateway.model.base import ModelRequest
from gateway.prompt.assemble import Prefix, PromptLimits, assemble, prefix_of
from gateway.prompt.components import Components
from gateway.skills.catalog import Catalog
from gateway.storage.base import History, StoredMessage, TurnRow
from gateway.tools.registry import Tools
from gateway.turn.parts import Parts


class Conversation:
    """The messages of one turn's model calls, and the skills that go with them: those of its beginning."""

    def __init__(self, parts: Parts, turn: TurnRow, components: Components, history: History) -> None:
        self._parts = parts
        self._turn = turn
        self._components = components
        self.catalog = parts.skills.catalog
        self.incompressible = False
        self.overflowed = False
        """Whether the endpoint has found it too long in this turn."""
        self.not_shown: set[str] = set()
        """What was told of files that cannot be shown."""
        self.withheld: frozenset[str] = frozenset()
        """Files that are not shown in this turn, as the endpoint refused a request with them."""
        self.shows_all = True
        """Whether the newest request shows every file that its messages name."""
        self.replace(history)

    @property
    def tools(self) -> Tools:
        """What may be called: what was compressed can be looked up once there is such."""
        return tools_for(self._parts, self.catalog, compressed=self.history.compression is not None)

    @property
    def digests(self) -> dict[str, str]:
        """The prompt's components by name, and the skills, each with the beginning of its digest."""
        found = {item.name: item.digest[:12] for item in self._components.items}
        if told := skills_told(self._parts, self.catalog):
            found["skills"] = sha256(told.encode()).hexdigest()[:12]
        return found

    def add(self, message: Message, usage: Usage | None = None) -> None:
        """What the model said (`usage` is of that call), or what tools answered."""
        self.messages.append(message)
        self._stored.append(stored_next(self._stored, self._turn.id, message, usage))

    def replace(self, history: History) -> None:
        """The session was compressed: from now on this is what the model is told."""
        self._stored = list(history.messages)
        self.history = replace(history, messages=self._stored)
        self.messages = view(history)

    @property
    def may_think(self) -> bool:
        """Whether the next call may think. While tools run, the API wants the thought that led to the first
        call; when that was signed for a prefix that is gone, the rest of the turn goes without."""
        return not any(
            item.turn_id == self._turn.id
            and item.message.role == "assistant"
            and item.position <= self.history.epoch_from
            for item in self.history.messages
        )

    def prefix(self, *, compressed: bool | None = None) -> Prefix:
        """What comes before the messages: as it is, or as if the session were `compressed`."""
        compressed = self.history.compression is not None if compressed is None else compressed
        return prefix_for(
            self._parts,
            self._components,
            self.catalog,
            compressed=compressed,
            carried=self.history.carried,
            memories=memories_told(self.history),
        )

    def request(self) -> tuple[ModelRequest, str]:
        """The next model call, and the hash of all that comes before its messages.

        Raises:
            AssertionError: the endpoint would refuse the messages.
        """
        settings = self._parts.settings
        assembled = assemble(
            self._components,
            fold(self.messages),
            tools=self.tools.specs(),
            skills=skills_told(self._parts, self.catalog),
            limits=prompt_limits(self._parts),
            carried=self.history.carried,
            memories=memories_told(self.history),
        )
        if wrong := problems(assembled.messages):
            raise AssertionError(f"the history is not valid: {wrong}")
        request = ModelRequest(
            model=self._turn.model,
            max_tokens=settings.max_tokens,
            system=assembled.system,
            messages=assembled.messages,
            tools=assembled.tools,
            thinking_budget=settings.thinking_budget if self.may_think else None,
            temperature=settings.temperature,
        )
        return request, assembled.prefix_hash


def prefix_for(
    parts: Parts,
    components: Components,
    catalog: Catalog,
    *,
    compressed: bool,
    carried: str | None = None,
    memories: str = "",
) -> Prefix:
    """What comes before the messages of a session with these skills."""
    return prefix_of(
        components,
        tools=tools_for(parts, catalog, compressed=compressed).specs(),
        skills=skills_told(parts, catalog),
        limits=prompt_limits(parts),
        carried=carried,
        memories=memories,
    )


def memories_told(history: History) -> str:
    """What stands in the prompt of the memories."""
    return history.memories.text if history.memories is not None else ""


def skills_told(parts: Parts, catalog: Catalog) -> str:
    """What the model is told of the catalog."""
    return catalog.snapshot if parts.settings.skills_in_prompt else ""


def tools_for(parts: Parts, catalog: Catalog, *, compressed: bool) -> Tools:
    """What may be called in a session: what was compressed can be looked up."""
    return catalog.tools.plus(parts.read_archive) if compressed else catalog.tools


def prompt_limits(parts: Parts) -> PromptLimits:
    """The limits of the system prompt that are set."""
    return PromptLimits(total_tokens=parts.settings.prompt_tokens)


def without_turn(history: History, turn_id: str) -> History:
    """The history as it was before that turn said anything."""
    return replace(history, messages=[item for item in history.messages if item.turn_id != turn_id])


def with_message(history: History, turn_id: str, message: Message) -> History:
    """The history with a message at its end that is on its way to the record."""
    return replace(
        history, messages=[*history.messages, stored_next(history.messages, turn_id, message, None)]
    )


def stored_next(
    stored: Sequence[StoredMessage], turn_id: str, message: Message, usage: Usage | None
) -> StoredMessage:
    """`message` as the record will have it after those that are `stored`."""
    return StoredMessage(stored[-1].position + 1 if stored else 1, turn_id, message, usage)
