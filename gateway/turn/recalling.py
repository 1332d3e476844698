"""What the memory tells a turn: what stands in its prompt for the epoch, and what is looked up for its
message. Where the memory fails, the turn goes on without it and says so."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gateway.errors import StorageError
from gateway.events.content import Retrieval
from gateway.events.lifecycle import TurnWarning
from gateway.history.transcript import is_forgotten
from gateway.memory.reasons import of_search, of_standing
from gateway.memory.recall import Known, Recall
from gateway.memory.room import households_of
from gateway.messages import Message, Recalled, recalled_block, recalled_in
from gateway.storage.base import History, ToldMemories, TurnRow
from gateway.storage.memories import MemoryRow, Scope
from gateway.turn.conversation import with_message
from gateway.turn.emitter import Emitter
from gateway.turn.epochs import begin_epoch
from gateway.turn.parts import Parts

NOT_READ = -1
"""Where no epoch begins: the memory could not be read when the session's did."""

CHANGED = (
    "Something that this session was told of the memories was corrected or forgotten: it is taken out, a new "
    "epoch begins, and thinking from before it is not sent any more."
)
READ_AT_LAST = (
    "The memory can be read again and stands in the prompt from now on: a new epoch begins, and thinking "
    "from before it is not sent any more."
)
UNAVAILABLE = "The memory could not be read: this turn goes on without it."


@dataclass(frozen=True, slots=True)
class Told:
    """What a turn knows of the memories: `history` with it, the memories that the session was told (`rows`),
    and how much of each."""

    history: History
    rows: Sequence[MemoryRow] = ()
    known: Known = field(default_factory=Known)


def scope_of(parts: Parts, turn: TurnRow) -> Scope:
    """On whose behalf, and where, a turn looks at memories."""
    households = households_of(parts.settings, turn.owner)
    return Scope(turn.owner, turn.role_id, turn.project_id, turn.session_id, households)


async def stand(parts: Parts, emitter: Emitter, history: History) -> Told:
    """The history with what stands in the prompt of the memories: as it was told before, within an epoch;
    taken anew when one begins. When something of it is no longer so, one begins."""
    recall = _recall_of(parts)
    if recall is None:
        return Told(replace(history, memories=None))
    turn = emitter.turn
    try:
        return await _stand(parts, recall, emitter, history)
    except StorageError:
        emitter.emit(TurnWarning(code="memory_unavailable", message=UNAVAILABLE))
    if history.memories is None and _is_fresh(history, turn.id):
        history = replace(history, memories=ToldMemories("", {}, NOT_READ))
        await parts.sessions.tell_memories(turn.session_id, ToldMemories("", {}, NOT_READ))
    # What stood in the prompt stays there: to take it out would begin an epoch.
    return Told(history)


async def look_up(parts: Parts, emitter: Emitter, told: Told) -> Told:
    """What the memory has for the turn's message, which joins the history after it: before the first model
    call, and never later, when a call may wait for its result."""
    recall, turn, history = _recall_of(parts), emitter.turn, told.history
    if recall is None or emitter.progress.iteration > 0 or still_told(history, turn.id):
        return told
    scope = scope_of(parts, turn)
    try:
        if await recall.is_empty(scope):
            return told
        count = len(history.messages)
        looked_up = await recall.look_up(
            scope, turn.input, message_count=count, known=told.known, turn_id=turn.id
        )
    except StorageError:
        emitter.emit(TurnWarning(code="memory_unavailable", message=UNAVAILABLE))
        return told
    if looked_up is None:
        return told
    new = looked_up.new()
    message = Message("user", [recalled_block(new)]) if new else None
    found, decision = looked_up.found, looked_up.decision
    event = of_search(turn.input, found, decision.mode, known=looked_up.known, notes=decision.notes)
    _tell(parts, emitter, event, message)
    rows = [*told.rows, *(hit.row for hit in found.hits)]
    if message is not None:
        history = with_message(history, turn.id, message)
    return Told(history, rows, told.known)


def known_of(history: History, rows: Sequence[MemoryRow]) -> Known:
    """What a session has been told, and how much of it; `rows` are these memories as they are now."""
    standing = history.memories or ToldMemories("", {}, history.epoch_from)
    # A line has the content; what else belongs to a memory is told when it is looked up.
    plain = {row.id for row in rows if not (row.context or row.decisions or row.refs)}
    full = (standing.digests.keys() - standing.named) & plain
    recalled = still_told(history)
    full |= {each.id for each in recalled if each.full}
    return Known(frozenset(full), frozenset({*standing.digests, *(each.id for each in recalled)}))


def still_told(history: History, turn_id: str | None = None) -> list[Recalled]:
    """What the turns of a history, or that one of them, were told of memories and is still in its view."""
    return [
        each
        for item in history.messages
        if turn_id in {None, item.turn_id}
        for block in item.message.content
        for each in recalled_in(block)
        if not is_forgotten(each, item, history.memories)
    ]


async def _stand(parts: Parts, recall: Recall, emitter: Emitter, history: History) -> Told:
    turn, before = emitter.turn, history.memories
    scope = scope_of(parts, turn)
    recalled = still_told(history)
    if before is None and not recalled and await recall.is_empty(scope):
        return Told(history)
    told_before = before or ToldMemories("", {}, history.epoch_from)
    looked_back = await recall.look_back(scope, told_before.digests, recalled)
    fresh = _is_fresh(history, turn.id)
    begins = fresh if before is None else before.epoch_from not in {history.epoch_from, NOT_READ}
    late = told_before.epoch_from == NOT_READ
    if not begins and (looked_back.outdated or looked_back.gone or late):
        if not fresh:
            message = READ_AT_LAST if late else CHANGED
            emitter.emit(TurnWarning(code="memory_changed", message=message))
            history = await begin_epoch(parts, turn.session_id, history)
        begins = True
    if not begins:
        return Told(history, looked_back.rows, known_of(history, looked_back.rows))
    taken = await recall.standing(scope)
    last = history.messages[-1].position if history.messages else 0
    told_now = ToldMemories(
        taken.text,
        taken.digests,
        history.epoch_from,
        named=taken.named,
        forgotten={**told_before.forgotten, **dict.fromkeys(looked_back.gone, last)},
    )
    await parts.sessions.tell_memories(turn.session_id, told_now)
    if taken.rows and told_now.text != told_before.text:
        _tell(parts, emitter, of_standing(turn.input, taken))
    history = replace(history, memories=told_now)
    rows = list({row.id: row for row in (*looked_back.rows, *taken.rows)}.values())
    return Told(history, rows, known_of(history, rows))


def _recall_of(parts: Parts) -> Recall | None:
    return parts.memory.recall if parts.memory is not None else None


def _is_fresh(history: History, turn_id: str) -> bool:
    """Whether the model was told nothing yet in this epoch."""
    return all(item.position <= history.epoch_from or item.turn_id == turn_id for item in history.messages)


def _tell(parts: Parts, emitter: Emitter, event: Retrieval, message: Message | None = None) -> None:
    if parts.settings.retrieval_events:
        emitter.emit(event, message=message)
    elif message is not None:
        emitter.record(message)
