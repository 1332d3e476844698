"""Compression inside a turn: when the view has grown too long, by our estimate or by the endpoint's
answer."""

from gateway.errors import (
    CompressionFailed,
    Conflict,
    LimitReached,
    LimitsUnavailable,
    NothingToCompress,
)
from gateway.events.lifecycle import IterationSuperseded, TurnWarning
from gateway.events.session_changes import Compression
from gateway.history.tokens import overhead_of
from gateway.model.base import ModelRequest
from gateway.model.side_calls import CallContext
from gateway.storage.archives import Trigger
from gateway.turn.context import TurnContext
from gateway.turn.memory_context import render_in_prompt, revalidate
from gateway.turn.model_call_files import with_files
from gateway.turn.prompt_generation import begin_generation

PAUSED = (
    "The last two compressions of this session failed: none is tried automatically until one that was asked "
    "for succeeds."
)
WITHOUT_MODEL = (
    "No model could write a summary of the older messages, so one was made without: the facts that were "
    "known, and the first and last lines of what was archived. The archive has every word."
)
MAX_OVERFLOWS = 3
"""Compressions of one turn because its requests are too long: each halves what is sent."""


async def compress_if_due(turn: TurnContext, request: ModelRequest) -> bool:
    """Compresses before `request` is sent if the request is larger than the share `compress_at` of the
    window, and returns whether it did. After a failure the turn goes on with the old view. If the prefix
    alone is larger than that share, nothing is compressed, as each later request would be too large again,
    and one warning is emitted."""
    if turn.incompressible:
        return False
    deps, row, history = turn.deps, turn.row, turn.history
    if deps.compressor.should_warn_of_pause(row.session_id, history):
        turn.emit(TurnWarning(code="compression_paused", message=PAUSED))
    threshold = await deps.compressor.threshold(row.model, history)
    if threshold is None:
        return False
    overhead = overhead_of(request.system, request.tools)
    size = deps.meter.size(row.model, history, overhead=overhead)
    near = deps.meter.is_near(size, threshold)
    shown = await with_files(turn, request) if near else None
    if await deps.meter.count(deps.model, request, size, threshold, shown=shown) < threshold:
        return False
    alone = deps.meter.size_of_prompt(row.model, history) or 0
    if deps.compressor.should_warn_of_full_prompt(row.session_id, full=alone >= threshold):
        turn.emit(TurnWarning(code="prompt_too_long", message=_too_long(alone, threshold)))
    if alone >= threshold:
        return False
    return await _compress(turn, "automatic")


def _too_long(alone: int, threshold: int) -> str:
    return (
        f"The prompt and the tools alone take about {alone} tokens, and a compression is due at {threshold}: "
        "none would help, so none is made automatically. Shorten the prompt, switch skills off, or raise "
        "GATEWAY_COMPRESS_AT."
    )


async def compress_overflow(turn: TurnContext) -> bool:
    """After the endpoint refused the view as too long, or before it would: whether it is shorter now, which
    is tried a few times in a turn, as nobody may know how long it may be. The attempt that was refused is
    superseded as soon as a compression starts."""
    if turn.overflows >= MAX_OVERFLOWS:
        return False
    if not (turn.settings.compress_on_overflow and turn.settings.use_compressions):
        return False
    turn.overflows += 1
    return await _compress(turn, "overflow")


async def _compress(turn: TurnContext, trigger: Trigger) -> bool:
    now, then = turn.prefix, turn.prompt.prefix(turn.history, compressed=True)
    overhead, session_id = overhead_of(now.system, now.tools), turn.row.session_id

    async def notify(data: Compression) -> None:
        if turn.progress.attempt_open:
            attempt = IterationSuperseded(attempt=turn.progress.attempt, reason="context_overflow")
            turn.emit(attempt)
        turn.emit(data)

    await turn.emitter.flush()  # the compressor reads the turn's messages from the database
    try:
        version = await turn.deps.compressor.compress(
            session_id,
            model=turn.row.model,
            trigger=trigger,
            notify=notify,
            overhead=overhead,
            added=overhead_of(then.system, then.tools) - overhead,
            context=CallContext(turn.row.owner, session_id, turn.row.id),
        )
    except (NothingToCompress, CompressionFailed, Conflict, LimitReached, LimitsUnavailable):
        turn.incompressible, turn.overflows = True, MAX_OVERFLOWS  # not again in this turn
        return False
    if version.without_model:
        turn.emit(TurnWarning(code="summary_without_model", message=WITHOUT_MODEL))
    history, reason = await revalidate(turn, await turn.deps.sessions.history(session_id))
    if reason is not None:
        history = await begin_generation(turn, history, [reason])
    turn.set_history(await render_in_prompt(turn, history))
    return True
