"""What the memory tells a turn: what stands in its prompt for the epoch, and what is looked up for its
message. Where the memory fails, the turn goes on without it and says so."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from gateway.errors import StorageError
from gateway.events.content import Retrieval
from gateway.events.lifecycle import TurnWarning
from gateway.memory import told
from gateway.memory.reasons import of_search, of_standing
from gateway.memory.recall import LookedUp, Recall
from gateway.memory.room import households_of
from gateway.messages import RECALLED, Block, Message, recalled_block
from gateway.storage.base import History, StoredMessage, ToldMemories, TurnRow
from gateway.storage.memories import MemoryRow, Scope
from gateway.turn.conversation import with_message
from gateway.turn.emitter import Emitter
from gateway.turn.epochs import begin_epoch
from gateway.turn.parts import Parts

CHANGED = (
    "Something that this session was told of the memories was corrected or forgotten: it is taken out, a new "
    "epoch begins, and thinking from before it is not sent any more."
)
UNAVAILABLE = "The memory could not be read: this turn goes on without it."


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a turn was told: `history` with it, and the memories that were found for its message."""

    history: History
    rows: Sequence[MemoryRow] = ()


def scope_of(parts: Parts, turn: TurnRow) -> Scope:
    """On whose behalf, and where, a turn looks at memories."""
    households = households_of(parts.settings, turn.owner)
    return Scope(turn.owner, turn.role_id, turn.project_id, turn.session_id, households)


async def stand(parts: Parts, emitter: Emitter, history: History) -> History:
    """The history with what stands in the prompt of the memories: as it was told before, within an epoch;
    taken anew when one begins. When something of it is no longer so, one begins."""
    recall = _recall_of(parts)
    if recall is None:
        return replace(history, memories=None)
    turn, before = emitter.turn, history.memories
    scope = scope_of(parts, turn)
    ids = recalled_ids(history.messages)
    try:
        if before is None and not ids and await recall.is_empty(scope):
            return history
        told_before = before or ToldMemories("", {}, history.epoch_from)
        stale, gone = await recall.outdated(scope, told_before.digests, ids - told_before.forgotten)
        begins = before.epoch_from != history.epoch_from if before else _is_fresh(history, turn.id)
        if not begins and (stale or gone):
            emitter.emit(TurnWarning(code="memory_changed", message=CHANGED))
            history, begins = await begin_epoch(parts, turn.session_id, history), True
        if not begins:
            return history
        taken = await recall.standing(scope)
        told_now = ToldMemories(taken.text, taken.digests, history.epoch_from, told_before.forgotten | gone)
        await parts.sessions.tell_memories(turn.session_id, told_now)
    except StorageError:
        # What stood in the prompt stays there: to take it out would begin an epoch.
        emitter.emit(TurnWarning(code="memory_unavailable", message=UNAVAILABLE))
        return history
    if taken.rows and told_now.text != told_before.text:
        _tell(parts, emitter, of_standing(turn.input, taken))
    return replace(history, memories=told_now)


async def look_up(parts: Parts, emitter: Emitter, history: History) -> Recalled:
    """What the memory has for the turn's message, which joins the history after it; once in a turn."""
    recall, turn = _recall_of(parts), emitter.turn
    own = [item for item in history.messages if item.turn_id == turn.id]
    if recall is None or recalled_ids(own):
        return Recalled(history)
    scope = scope_of(parts, turn)
    standing = history.memories.digests if history.memories is not None else {}
    known = {*standing, *recalled_ids(history.messages)}
    try:
        if await recall.is_empty(scope):
            return Recalled(history)
        count = len(history.messages)
        looked_up = await recall.look_up(scope, turn.input, message_count=count, known=known)
    except StorageError:
        emitter.emit(TurnWarning(code="memory_unavailable", message=UNAVAILABLE))
        return Recalled(history)
    if looked_up is None:
        return Recalled(history)
    rows = [hit.row for hit in looked_up.found.hits]
    block = block_of(looked_up, known)
    message = Message("user", [block]) if block is not None else None
    found, decision = looked_up.found, looked_up.decision
    event = of_search(turn.input, found, decision.mode, known=known, notes=decision.notes)
    _tell(parts, emitter, event, message)
    if message is None:
        return Recalled(history, rows)
    return Recalled(with_message(history, turn.id, message), rows)


def block_of(looked_up: LookedUp, known: Collection[str]) -> Block | None:
    """What is told of it: all but what is `known`; None when that is nothing."""
    write = told.details if looked_up.decision.mode == "details" else told.catalog_line
    new = [(hit.row.id, write(hit.row)) for hit in looked_up.found.hits if hit.row.id not in known]
    return recalled_block(new) if new else None


def recalled_ids(messages: Sequence[StoredMessage]) -> set[str]:
    """The memories that the turns of a history were told."""
    return {each["id"] for item in messages for block in _recalled(item) for each in block["memories"]}


def _recall_of(parts: Parts) -> Recall | None:
    return parts.memory.recall if parts.memory is not None else None


def _is_fresh(history: History, turn_id: str) -> bool:
    """Whether the model was told nothing yet in this epoch."""
    return all(item.position <= history.epoch_from or item.turn_id == turn_id for item in history.messages)


def _recalled(item: StoredMessage) -> Iterator[Block]:
    return (block for block in item.message.content if block["type"] == RECALLED)


def _tell(parts: Parts, emitter: Emitter, event: Retrieval, message: Message | None = None) -> None:
    if parts.settings.retrieval_events:
        emitter.emit(event, message=message)
    elif message is not None:
        emitter.record(message)
