"""One turn from its first event to how it ends. Read this first.

    turn_start -> load what was said -> read the prompt components -> recall memories
        -> loop (compress if too long, ask, run tools, ...) -> ending, or parked for a person's decision

A turn that another process left open, or that was parked, enters here too: its events are folded into
`Progress` before, and each step that is done already is not done again. Whoever owns the task (in_flight.py)
closes the books with the ending."""

import re
from collections.abc import Sequence

from gateway.errors import ArchiveDamaged, GatewayError, ModelError, TooManyToolCalls
from gateway.events.lifecycle import IterationSuperseded, TurnWarning
from gateway.history.summaries.summary import render_carried
from gateway.history.transcript import tools_heard
from gateway.ids import ARTIFACT_PATTERN
from gateway.memory.keeper.said import own_words
from gateway.storage.base import EPOCH_OPEN, History, TurnRow
from gateway.storage.memories import MemoryRow
from gateway.tools.base import Said
from gateway.turn import recalling
from gateway.turn.attaching import make_room
from gateway.turn.books import COMPLETED, Ending, failed, noted, open_books
from gateway.turn.conversation import Conversation, with_message, without_turn
from gateway.turn.emitter import Emitter
from gateway.turn.epochs import begin_epoch
from gateway.turn.limits import Limits
from gateway.turn.loop import run_loop
from gateway.turn.parts import Parts
from gateway.turn.tool_calls import settle_interrupted

PROMPT_CHANGED = (
    "The prompt before the conversation has changed since the last turn: a new epoch begins, and thinking "
    "from before it is not sent any more."
)


async def run_turn(parts: Parts, emitter: Emitter, limits: Limits) -> Ending | None:
    """Runs the turn of `emitter` to its ending; a failure of the model is one. None: it was parked.

    Raises:
        StorageError: the log failed.
        asyncio.CancelledError: the turn was stopped.
    """
    if emitter.progress.done:
        raise GatewayError(f"Turn {emitter.turn.id} is over already.")
    begun = emitter.progress.started_at is not None
    try:
        history = await (_resume(parts, emitter) if begun else _begin(parts, emitter))
    except ArchiveDamaged as error:
        return failed("archive_damaged", error.message, retryable=False)
    components = parts.prompts.read()
    for warning in components.warnings:
        emitter.emit(TurnWarning(code="prompt_component", message=warning))
    conversation = Conversation(parts, emitter.turn, components, history)
    emitter.said = lambda: said_in(history)
    emitter.progress.heard |= tools_heard(history)
    await _begin_epoch_if_changed(parts, emitter, conversation)
    await make_room(parts, emitter, conversation)
    recalled = await _recall(parts, emitter, conversation)
    try:
        ending = await run_loop(parts, emitter, conversation, limits)
        if ending is COMPLETED and parts.memory is not None:
            parts.memory.recall.cited(recalled, "".join(emitter.progress.text))
        return ending
    except TooManyToolCalls as error:
        return noted("limit_reached", error.code, error.message)
    except ModelError as error:
        return failed(error.code, error.message, retryable=error.retryable)  # pyright: ignore[reportArgumentType] - a ModelError's code is one of the in-stream codes


def said_in(history: History) -> list[Said]:
    """What the user said themselves, as far as it is in the view word for word, in order."""
    told = [Said(item.position, own_words(item.message)) for item in history.messages]
    return [each for each in told if each.text]


async def _begin(parts: Parts, emitter: Emitter) -> History:
    turn = emitter.turn
    is_first = emitter.head == 0
    message = open_books(emitter)
    if is_first:
        return with_message(History([], carried=await _carry(parts, turn)), turn.id, message)
    return with_message(without_turn(await _load(parts, turn), turn.id), turn.id, message)


async def _resume(parts: Parts, emitter: Emitter) -> History:
    progress = emitter.progress
    if progress.attempt_open:
        emitter.emit(IterationSuperseded(attempt=progress.attempt, reason="server_restart", began=True))
    settle_interrupted(emitter)
    return await _load(parts, emitter.turn)


async def _load(parts: Parts, turn: TurnRow) -> History:
    whole = not parts.settings.use_compressions
    history = await parts.sessions.history(turn.session_id, whole=whole)
    if history.epoch_from < EPOCH_OPEN:
        return history
    # The view changed while a turn ran: all that has been thought until now was signed for another prefix.
    return await begin_epoch(parts, turn.session_id, history)


async def _begin_epoch_if_changed(parts: Parts, emitter: Emitter, conversation: Conversation) -> None:
    before = emitter.progress.prefix_hash or conversation.history.prefix_hash
    if before is not None and before != conversation.prefix().prefix_hash:
        emitter.emit(TurnWarning(code="prompt_changed", message=PROMPT_CHANGED))
        conversation.replace(await begin_epoch(parts, emitter.turn.session_id, conversation.history))


async def _recall(parts: Parts, emitter: Emitter, conversation: Conversation) -> Sequence[MemoryRow]:
    """Tells the turn what the memory has for it; returns the memories that it knows of."""
    told = await recalling.stand(parts, emitter, conversation.history)
    told = await recalling.look_up(parts, emitter, told)
    conversation.replace(told.history)
    return told.rows


async def _carry(parts: Parts, turn: TurnRow) -> str | None:
    """What a new session is told of its user's former ones."""
    settings = parts.settings
    if not settings.session_summaries or not settings.carried_summaries:
        return None
    rows = await parts.summaries.carried(turn.session_id, turn.owner, limit=settings.carried_summaries)
    if not rows:
        return None
    text = render_carried(rows)
    await parts.sessions.carry(turn.session_id, text)
    await parts.shelf.use(turn.owner, turn.session_id, set(re.findall(ARTIFACT_PATTERN, text)))
    return text
