"""The prompt of the next turn, for authors of prompts and for users who look at their memories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gateway.auth import Principal
from gateway.history.tokens import overhead_of
from gateway.history.transcript import view
from gateway.memory.households import households_of
from gateway.memory.recall import InContext, Recall
from gateway.messages import Message, ToolSpec, recalled_block
from gateway.prompt.components import Components
from gateway.prompt.prompt_profile import LeftOut, Profile
from gateway.prompt.system_prompt import Prefix
from gateway.prompt.text_cleaning import clean
from gateway.service.client_tools import client_tools
from gateway.service.dependencies import Dependencies
from gateway.storage.memories import Scope
from gateway.storage.messages import History, PromptMemories, StoredMessage
from gateway.turn.memory_context import digests_of, known_of
from gateway.turn.turn_prompt import Prompt


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """For which turn: the next one of a session, or the first of a new one in a role and a project; and for
    which message, to see what the memory would add to it. `instructions` would be the client's, as of a turn,
    `edits` the texts of components, by name, in place of their files."""

    session_id: str | None = None
    role_id: str | None = None
    project_id: str | None = None
    message: str | None = None
    instructions: str | None = None
    edits: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Previewed:
    """The components, the prompt made of them, and what comes with the message."""

    components: Components
    prefix: Prefix
    retrieved: str | None = None
    profile: Profile = "full"
    left_out: Sequence[LeftOut] = ()


class Prompts:
    """One per process. Stores nothing."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps

    def components(self) -> Previewed:
        """What is the same for everybody."""
        return self._previewed(History([]), {})

    async def preview(self, who: Principal, request: PreviewRequest) -> Previewed:
        """Raises errors.NotFound (session_not_found), errors.InvalidRequest (there is no such component),
        errors.StorageError."""
        deps, history = self._deps, History([])
        scope = Scope(who.user_id, request.role_id, request.project_id)
        if request.session_id is not None:
            session = await deps.sessions.get(request.session_id, who.user_id)
            history = await deps.sessions.history(session.id)
            scope = Scope(who.user_id, session.role_id, session.project_id, session.id)
        if request.instructions is not None:
            history = replace(history, instructions=clean(request.instructions))
        if deps.memory is None:
            return self._previewed(replace(history, memories=None), request.edits)
        scope = scope._replace(households=households_of(deps.settings, who.user_id))
        recall, most = deps.memory.recall, Prompt.read(deps).memory_tokens
        history, known = await _with_memories(recall, scope, history, most)
        retrieved = await _retrieved(recall, scope, history, known, message=request.message, most=most)
        return self._previewed(history, request.edits, retrieved)

    async def usable(self, tools: Sequence[ToolSpec]) -> Sequence[ToolSpec]:
        """The tools of a client as the model is shown them. Raises errors.InvalidRequest."""
        return await client_tools(self._deps, tools)

    def tokens(
        self, model: str, instructions: str, messages: list[Message], tools: Sequence[ToolSpec]
    ) -> int:
        """About how many tokens `model` counts for a first turn with these messages, and the instructions and
        usable tools of a client beside the gateway's own: without what the memory adds."""
        prompt = Prompt.read(self._deps, tools, model=model)
        prefix = prompt.prefix(History([], instructions=clean(instructions)))
        return self._deps.meter.estimate(model, messages, overhead_of(prefix.system, prefix.tools))

    def _previewed(
        self, history: History, edits: Mapping[str, str], retrieved: str | None = None
    ) -> Previewed:
        prompt = Prompt.read(self._deps)
        components = prompt.components.edited(edits) if edits else prompt.components
        prefix = replace(prompt, components=components).prefix(history, compressed=False)
        return Previewed(components, prefix, retrieved, prompt.profile, prompt.offered().left_out)


async def _with_memories(
    recall: Recall, scope: Scope, history: History, most: int | None
) -> tuple[History, InContext]:
    """The history with the memories that the prompt would have, in `most` tokens, and those in context with
    that."""
    prompted = history.memories
    if prompted is not None and prompted.generation_from == history.generation_from:
        revalidated = await recall.revalidate(scope, digests_of(history))
        if not revalidated.outdated:
            state = revalidated.state
            return history, known_of(history, state.rows, exclude=state.corrected)
    elif history.messages and prompted is None:
        return history, known_of(history, ())  # its prompt generation began without any
    snapshot = await recall.load_snapshot(scope, most=most)
    new = PromptMemories(snapshot.text, snapshot.digests, history.generation_from, named=snapshot.summarized)
    history = replace(history, memories=new)
    return history, known_of(history, snapshot.rows)


async def _retrieved(
    recall: Recall, scope: Scope, history: History, known: InContext, *, message: str | None, most: int | None
) -> str | None:
    if message is None:
        return None
    count = len(history.messages)
    looked_up = await recall.retrieve(scope, message, message_count=count, known=known, most=most)
    new = looked_up.new_memories() if looked_up is not None else ()
    if not new:
        return None
    block = recalled_block(new)
    (found,) = view(History([StoredMessage(1, "", Message("user", [block]))]))
    return str(found.content[0]["text"])
