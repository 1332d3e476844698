"""Compression inside a turn: when the view has grown too long, and when the endpoint says that it has."""

from gateway.errors import CompressionFailed, Conflict, NothingToCompress
from gateway.events.lifecycle import IterationSuperseded, TurnWarning
from gateway.events.upkeep import Compression
from gateway.history.tokens import overhead_of
from gateway.model.base import ModelRequest
from gateway.model.calls import CallContext
from gateway.storage.records import Trigger
from gateway.turn.attaching import with_files
from gateway.turn.conversation import Conversation
from gateway.turn.emitter import Emitter
from gateway.turn.parts import Parts
from gateway.turn.recalling import stand

PAUSED = (
    "The last two compressions of this session failed: none is tried automatically until one that was asked "
    "for succeeds."
)


async def compress_if_due(
    parts: Parts, emitter: Emitter, conversation: Conversation, request: ModelRequest
) -> bool:
    """Before the model is sent `request`: compresses when that is over the share of the window that is set.
    Whether it did; whatever comes of it, the turn goes on, without success with the old view."""
    if parts.settings.compress_at is None or conversation.incompressible:
        return False
    turn, history = emitter.turn, conversation.history
    if parts.compressor.is_pause_news(turn.session_id, history):
        emitter.emit(TurnWarning(code="compression_paused", message=PAUSED))
    threshold = await parts.compressor.threshold(turn.model, history)
    if threshold is None:
        return False
    overhead = overhead_of(request.system, request.tools)
    size = parts.meter.size(turn.model, history, overhead=overhead)
    near = parts.meter.is_near(size, threshold)
    shown = await with_files(parts, emitter, conversation, request) if near else None
    if await parts.meter.count(parts.model, request, size, threshold, shown=shown) < threshold:
        return False
    return await _compress(parts, emitter, conversation, "automatic")


async def compress_overflow(parts: Parts, emitter: Emitter, conversation: Conversation) -> bool:
    """After the endpoint refused the view as too long: whether it is shorter now, which is tried once a turn.
    The attempt that was refused is superseded as soon as a compression starts."""
    if conversation.overflowed or not parts.settings.compress_on_overflow:
        return False
    conversation.overflowed = True
    if not parts.settings.use_compressions:
        return False
    return await _compress(parts, emitter, conversation, "overflow")


async def _compress(parts: Parts, emitter: Emitter, conversation: Conversation, trigger: Trigger) -> bool:
    turn = emitter.turn
    now, then = conversation.prefix(), conversation.prefix(compressed=True)
    overhead = overhead_of(now.system, now.tools)

    async def say(data: Compression) -> None:
        progress = emitter.progress
        if progress.attempt_open:
            attempt = IterationSuperseded(attempt=progress.attempt, reason="context_overflow")
            emitter.emit(attempt)
        emitter.emit(data)

    await emitter.settled()  # what this turn said so far is in the record, where the compressor reads it
    try:
        await parts.compressor.compress(
            turn.session_id,
            model=turn.model,
            trigger=trigger,
            say=say,
            overhead=overhead,
            added=overhead_of(then.system, then.tools) - overhead,
            context=CallContext(turn.session_id, turn.id),
        )
    except (NothingToCompress, CompressionFailed, Conflict):
        conversation.incompressible = True  # not again in this turn
        return False
    history = await parts.sessions.history(turn.session_id)
    conversation.replace((await stand(parts, emitter, history)).history)
    return True
