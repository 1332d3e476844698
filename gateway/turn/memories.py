"""What the memory tells a turn: what stands in its prompt for a whole generation of it, and what is looked up
for its message. Where the memory fails, the turn goes on without it and says so.

    look_back: is what the session was told still so? -> stand: what stands in the prompt, taken anew when a
        prompt generation begins -> look_up: what there is for the message
"""

from collections.abc import Sequence
from dataclasses import replace

from gateway.errors import StorageError
from gateway.events.content import Retrieval
from gateway.events.lifecycle import TurnWarning
from gateway.history.transcript import is_forgotten, last_position, with_message
from gateway.memory.recall import InContext, Recall
from gateway.memory.retrieval_events import search_event, snapshot_event
from gateway.memory.services import households_of
from gateway.messages import RECALLED, Message, Recalled, recalled_block, recalled_in
from gateway.storage.memories import MemoryRow, Scope
from gateway.storage.messages import History, ToldMemories
from gateway.turn.context import MemoryState, TurnContext
from gateway.turn.generation import Reason

NOT_READ = -1
"""Where no generation begins: the memory could not be read when the session's did."""

CHANGED = Reason(
    "memory_changed",
    "Something that this session was told of the memories was corrected or forgotten: it is taken out.",
)
READ_AT_LAST = Reason("memory_changed", "The memory can be read again and stands in the prompt from now on.")
UNAVAILABLE = "The memory could not be read: this turn goes on without it."


async def look_back(turn: TurnContext, history: History) -> tuple[History, Reason | None]:
    """The history, without memories where they are switched off, and why a prompt generation must begin: what
    the session was told of them is no longer so. What became of it is in `turn.memories`."""
    if turn.parts.memory is None:
        return (replace(history, memories=None) if history.memories is not None else history), None
    recall, recalled = turn.parts.memory.recall, still_told(history)
    before = history.memories or ToldMemories("", {}, history.generation_from)
    try:
        scope = scope_of(turn)
        if history.memories is None and not recalled and await recall.is_empty(scope):
            turn.memories = MemoryState(empty=True)
            return history, None
        found = await recall.revalidate(scope, before.digests, recalled)
    except StorageError:
        _unavailable(turn)
        return history, None
    outdated = found.outdated or bool(found.gone) or before.generation_from == NOT_READ
    turn.memories = MemoryState(found.rows, known_of(history, found.rows), found.gone, outdated)
    if not outdated or _is_fresh(turn, history) or _has_begun(turn, history):
        return history, None
    return history, READ_AT_LAST if before.generation_from == NOT_READ else CHANGED


async def stand(turn: TurnContext, history: History) -> History:
    """The history with what stands in the prompt of the memories: as it was told before, within a generation;
    taken anew when one has begun. Comes after `look_back`, and after the generation that it asked for."""
    if turn.parts.memory is None or turn.memories.empty:
        return history
    if not turn.memories.unavailable:
        try:
            return await _stand(turn, history, turn.parts.memory.recall)
        except StorageError:
            _unavailable(turn)
    if history.memories is None and _is_fresh(turn, history):
        history = replace(history, memories=ToldMemories("", {}, NOT_READ))
        await turn.parts.sessions.tell_memories(turn.row.session_id, ToldMemories("", {}, NOT_READ))
    # What stood in the prompt stays there: to take it out would begin a generation.
    return history


async def look_up(turn: TurnContext, history: History) -> History:
    """What the memory has for the turn's message, which joins the history after it: before the first model
    call, and never later, when a call may wait for its result."""
    memory, state, row = turn.parts.memory, turn.memories, turn.row
    if memory is None or state.empty or state.unavailable or turn.progress.iteration > 0:
        return history
    if still_told(history, row.id):
        return history
    recall, scope = memory.recall, scope_of(turn)
    try:
        if await recall.is_empty(scope):
            return history
        count = len(history.messages)
        looked_up = await recall.retrieve(
            scope, row.input, message_count=count, known=state.known, turn_id=row.id
        )
    except StorageError:
        _unavailable(turn)
        return history
    if looked_up is None:
        return history
    new = looked_up.new_memories()
    message = Message("user", [recalled_block(new)]) if new else None
    found, decision = looked_up.found, looked_up.decision
    event = search_event(row.input, found, decision.mode, known=looked_up.known, notes=decision.notes)
    _tell(turn, event, message)
    state.rows = [*state.rows, *(hit.row for hit in found.hits)]
    return with_message(history, row.id, message) if message is not None else history


def cited(turn: TurnContext) -> None:
    """Notes, beside the turn, which of the memories that it knows of its answer made use of."""
    if turn.parts.memory is not None and turn.memories.rows:
        turn.parts.memory.recall.record_citations(turn.memories.rows, "".join(turn.progress.text))


def scope_of(turn: TurnContext) -> Scope:
    """On whose behalf, and where, a turn looks at memories."""
    row = turn.row
    households = households_of(turn.settings, row.owner)
    return Scope(row.owner, row.role_id, row.project_id, row.session_id, households)


def known_of(history: History, rows: Sequence[MemoryRow]) -> InContext:
    """What a session has been told, and how much of it; `rows` are these memories as they are now."""
    standing = history.memories or ToldMemories("", {}, history.generation_from)
    # A line has the content; what else belongs to a memory is told when it is looked up.
    plain = {row.id for row in rows if not (row.context or row.decisions or row.refs)}
    full = (standing.digests.keys() - standing.named) & plain
    recalled = still_told(history)
    full |= {each.id for each in recalled if each.full}
    return InContext(frozenset(full), frozenset({*standing.digests, *(each.id for each in recalled)}))


def still_told(history: History, turn_id: str | None = None) -> list[Recalled]:
    """What the turns of a history, or that one of them, were told of memories and is still in its view."""
    return [
        each
        for item in history.messages
        if turn_id in {None, item.turn_id}
        for block in item.message.content
        if block["type"] == RECALLED
        for each in recalled_in(block)
        if not is_forgotten(each, item, history.memories)
    ]


async def _stand(turn: TurnContext, history: History, recall: Recall) -> History:
    state = turn.memories
    if not state.outdated and not _has_begun(turn, history):
        return history
    before = history.memories or ToldMemories("", {}, history.generation_from)
    taken = await recall.load_snapshot(scope_of(turn))
    told = ToldMemories(
        taken.text,
        taken.digests,
        history.generation_from,
        named=taken.summarized,
        forgotten={**before.forgotten, **dict.fromkeys(state.gone, last_position(history))},
    )
    await turn.parts.sessions.tell_memories(turn.row.session_id, told)
    if taken.rows and told.text != before.text:
        _tell(turn, snapshot_event(turn.row.input, taken))
    history = replace(history, memories=told)
    state.rows = list({row.id: row for row in (*state.rows, *taken.rows)}.values())
    state.known = known_of(history, state.rows)
    return history


def _has_begun(turn: TurnContext, history: History) -> bool:
    """Whether a generation has begun since the session was told what stands in its prompt."""
    if history.memories is None:
        return _is_fresh(turn, history)
    return history.memories.generation_from not in {history.generation_from, NOT_READ}


def _is_fresh(turn: TurnContext, history: History) -> bool:
    """Whether the model was told nothing yet in this generation."""
    return all(
        item.position <= history.generation_from or item.turn_id == turn.row.id for item in history.messages
    )


def _unavailable(turn: TurnContext) -> None:
    turn.emit(TurnWarning(code="memory_unavailable", message=UNAVAILABLE))
    turn.memories = MemoryState(turn.memories.rows, unavailable=True)


def _tell(turn: TurnContext, event: Retrieval, message: Message | None = None) -> None:
    if turn.settings.retrieval_events:
        turn.emit(event, message=message)
    elif message is not None:
        turn.emitter.record(message)
