"""The state of a running turn. A step of a turn is a function that takes it, beside its own arguments."""

import asyncio
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace

from gateway.errors import StorageError, TurnLost
from gateway.events.tool_calls import CallResult
from gateway.history.thinking_reader import Form, ThinkingReader, as_sent, last_answered
from gateway.history.transcript import view
from gateway.memory.context_changes import ContextState
from gateway.memory.extraction.user_messages import user_text
from gateway.memory.recall import InContext
from gateway.memory.services import MemoryServices
from gateway.messages import Message, ToolSpec, Usage, texts_of
from gateway.model.endpoint_facts import ANTHROPIC
from gateway.prompt.system_prompt import Prefix
from gateway.storage.memories import MemoryRow
from gateway.storage.messages import History, StoredMessage
from gateway.storage.turns import OwnedTurn
from gateway.tools.base import Exchange, UserMessage
from gateway.tools.policy import MEMBER, SERVER_TOOL, heard_in
from gateway.tools.registry import Tools
from gateway.turn.dependencies import TurnDependencies
from gateway.turn.emitter import Emitter
from gateway.turn.repeated_calls import ENDS_AFTER, TOLD_AFTER, repeated_warning, told
from gateway.turn.start_and_end import TurnBounds
from gateway.turn.turn_prompt import Prompt


@dataclass(slots=True)
class MemoryState:
    """The memories in the session's context: `rows` as they are now, `known` how much of each the model has
    read, `context` what became of them since. `outdated`: the snapshot in the prompt has to be taken anew.
    `found`: those that were found for the turn's message, by id with what was shown, the best first.
    `unavailable`: the memory could not be read; `empty`: it has nothing for the user, and nothing of it is in
    context."""

    rows: Sequence[MemoryRow] = ()
    known: InContext = field(default_factory=InContext)
    context: ContextState = field(default_factory=ContextState)
    outdated: bool = False
    found: dict[str, str] = field(default_factory=dict[str, str])
    unavailable: bool = False
    empty: bool = False


class TurnContext:
    """One turn that runs: its row, the emitter that its events and messages leave by (`emit` is short for the
    emitter's), its progress, the session's history as the model reads it, and the dependencies.

    `client_specs` are the tools that its client runs, `prompt` all that comes before a session's own.
    `history`, its `reader`, `messages` (its view), `tools` (what may be called) and `prefix` (what comes
    before the messages) belong together, and are there once the turn is prepared: `set_history` sets them.
    `preloaded` is the history as it was read when the turn was accepted, if it was.

    What lasts for one turn only, each written by the one module that it is named after:
    `memories`: the memories in context (memory_context.py).
    `withheld`: files that are not shown in this turn, as the endpoint refused a request with them;
    `not_shown`: the warnings about files that cannot be shown; `shows_all`: whether the newest request shows
    every file that its messages name (model_call_files.py).
    `brought`: the session's turns that did not run here, whose words are not its user's (prepare.py);
    `others`: those that other members sent, None before it is known (tool_run.py).
    `ignores_choice`: the endpoint refuses a request that says that no tool may be called (agent_loop.py).
    `incompressible`: no compression is tried any more; `overflows`: how often it was compressed because a
    request was too long (compression.py). `most_output`: how many tokens of an answer the endpoint has room
    for beside the prompt, where it has told (context_limits.py).
    `thinking_form`: what the model is sent of former thinking, None as long as nothing was refused;
    `forms_tried`: those that were; `thinks`: whether it is asked to think (thinking_refusals.py).
    `told_to_wait`: the codes of the warnings that the model is waited for, each of which comes once
    (model_slot.py).
    """

    history: History
    reader: ThinkingReader
    messages: list[Message]
    tools: Tools
    prefix: Prefix

    def __init__(
        self,
        deps: TurnDependencies,
        emitter: Emitter,
        limits: TurnBounds,
        preloaded: History | None = None,
        client_tools: Sequence[ToolSpec] = (),
    ) -> None:
        self.deps = deps
        self.settings = deps.settings
        self.limits = limits
        self.emitter = emitter
        self.emit = emitter.emit
        self.preloaded = preloaded
        self.row = emitter.turn
        self.progress = emitter.progress
        self.client_specs = client_tools
        self.prompt = Prompt.read(deps, client_tools, model=emitter.turn.model)
        self.memories = MemoryState()
        self.withheld: frozenset[str] = frozenset()
        self.not_shown: set[str] = set()
        self.shows_all = True
        self.brought = frozenset[str]()
        self.others: frozenset[str] | None = None
        self.ignores_choice = False
        self.incompressible = False
        self.overflows = 0
        self.most_output: int | None = None
        self.thinking_form: Form | None = None
        self.forms_tried = set[Form | None]()
        self.thinks = True
        self.told_to_wait = frozenset[str]()
        self._stored: list[StoredMessage] = []

    def set_history(self, history: History) -> None:
        """Makes this the history that the model reads."""
        self._stored = list(history.messages)
        self.history = replace(history, messages=self._stored)
        self.reader = self.reader_of(history)
        self.messages = view(history, self.reader)
        self.tools = self.prompt.tools(compressed=history.compression is not None)
        self.prefix = self.prompt.prefix(history)

    def reader_of(self, history: History) -> ThinkingReader:
        """The model that reads the history, in the form that the turn has come to."""
        model, facts = self.row.model, self.deps.model.facts
        return ThinkingReader(
            model,
            facts.name,
            self.row.id,
            self.thinking_form or ("all" if model in facts.wants_thinking else "own"),
            takes_unsigned=facts.kind != ANTHROPIC and model not in facts.refuses_unsigned,
            answered=last_answered(history, model, facts.name),
        )

    def add(self, message: Message, usage: Usage | None = None) -> None:
        """Adds an answer of the model (`usage` is of that call), or the results of tools, to the history."""
        if (shown := as_sent(self.reader, message)).content:
            self.messages.append(shown)
        if SERVER_TOOL in {heard_in(message.role, block) for block in message.content}:
            self.progress.tools_read.add(SERVER_TOOL)  # other calls count once they are answered
        position = self.history.next_position(self._stored)
        self._stored.append(StoredMessage(position, self.row.id, message, usage))

    def emit_result(self, call_id: str, result: CallResult) -> None:
        """Emits the one result of a call; with the last one the message that answers all is recorded. The
        model is told of a call that goes nowhere, and so is the person."""
        progress, count = self.progress, 0
        if (call := progress.calls.get(call_id)) is not None:
            count = progress.repeated.count(call.arguments, result)
        if note := told(count):
            result = result.model_copy(update={"content": result.content + note})
        if count in (TOLD_AFTER, ENDS_AFTER):
            self.emit(repeated_warning(result.name, count), tool_call_id=call_id)
        self.emit(result, tool_call_id=call_id, message=self.progress.results_message(call_id, result))

    async def ensure_lease(self) -> None:
        """Waits until a model call or a tool may begin: not at all, or, if a beat is overdue, until the
        database has confirmed that the turn is still this replica's. Raises errors.TurnLost: another replica
        has it."""
        replicas, row = self.deps.replicas, self.row
        while not replicas.lease.is_certain:
            await replicas.lease.renewed()
            try:
                is_owned = await self.deps.turns.is_owned(OwnedTurn(row.session_id, row.id, row.epoch))
            except StorageError as error:
                if not error.retryable:
                    raise
                await asyncio.sleep(replicas.every)
                continue
            if is_owned:
                return
            raise TurnLost(f"Turn {row.id} is no longer this replica's: epoch {row.epoch}.")

    def user_messages(self) -> Sequence[UserMessage]:
        """The user's messages, as far as the model sees them."""
        return user_messages_in(self.history, self._not_theirs)

    def exchange(self) -> Exchange | None:
        """The user's own words in the message of this turn, with the assistant's answer to their former
        message; None if the message has none."""
        return exchange_in(self.history, self.row.id, self._not_theirs)

    async def find_others(self) -> None:
        """Finds out, once, which turns of the session other members sent: for who sent this one they are what
        others wrote. Raises errors.StorageError."""
        if self.others is None:
            self.others = await self.deps.turns.of_others(self.row.session_id, self.row.owner)
            self.progress.tools_read |= {MEMBER} if self.others else set()

    @property
    def memory(self) -> MemoryServices | None:
        """The memory, where it is used: of a temporary session it is not."""
        return None if self.row.is_temporary else self.deps.memory

    @property
    def _not_theirs(self) -> frozenset[str]:
        """The turns whose words are not the user's own. What is kept of a shared session is kept for all of
        its members: there each one's words count."""
        return self.brought if self.row.is_shared else self.brought | (self.others or frozenset())


def user_messages_in(history: History, brought: Set[str] = frozenset()) -> list[UserMessage]:
    """The user's own messages that are in the view word for word, in order; not those of the turns that were
    `brought` along."""
    own = (item for item in history.messages if item.turn_id not in brought)
    messages = [UserMessage(item.position, user_text(item.message)) for item in own]
    return [each for each in messages if each.text]


def exchange_in(history: History, turn_id: str, brought: Set[str] = frozenset()) -> Exchange | None:
    """The user's own words in the message of the turn, with the assistant's answer to their former message,
    unless that was `brought` along; None if the message has none."""
    answers: list[str] = []
    for item in history.messages:
        if item.turn_id in brought:
            continue
        texts = texts_of(item.message)
        if item.message.role == "assistant":
            answers += texts
        elif item.turn_id == turn_id:
            text = user_text(item.message)
            return Exchange("\n".join(answers), UserMessage(item.position, text)) if text else None
        elif texts:
            answers.clear()
    return None
