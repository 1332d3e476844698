"""One turn from its first event to how it ends. Read this first.

    turn_start -> load what was said -> read the prompt components -> loop (ask, run tools, ...) -> ending

A turn that another process left open enters here too: its events are folded into `Progress` before, and
each step that is done already is not done again. Whoever owns the task (in_flight.py) closes the books with
the ending."""

from gateway.errors import GatewayError, ModelError
from gateway.events.lifecycle import IterationSuperseded, TurnWarning
from gateway.messages import Message
from gateway.turn.books import Ending, failed, open_books
from gateway.turn.emitter import Emitter
from gateway.turn.limits import Limits
from gateway.turn.loop import run_loop
from gateway.turn.parts import Parts
from gateway.turn.tool_calls import settle_interrupted


async def run_turn(parts: Parts, emitter: Emitter, limits: Limits) -> Ending:
    """Runs the turn of `emitter` to its ending; a failure of the model is one.

    Raises:
        StorageError: the log failed.
        asyncio.CancelledError: the turn was stopped.
    """
    if emitter.progress.done:
        raise GatewayError(f"Turn {emitter.turn.id} is over already.")
    history = (
        await _begin(parts, emitter) if emitter.progress.started_at is None else await _resume(parts, emitter)
    )
    components = parts.prompts.read()
    for warning in components.warnings:
        emitter.emit(TurnWarning(code="prompt_component", message=warning))
    try:
        return await run_loop(parts, emitter, components, history, limits)
    except ModelError as error:
        return failed(error.code, error.message, retryable=error.retryable)  # pyright: ignore[reportArgumentType] - a ModelError's code is one of the in-stream codes


async def _begin(parts: Parts, emitter: Emitter) -> list[Message]:
    turn = emitter.turn
    is_first = emitter.head == 0
    message = open_books(emitter)
    if is_first:
        return [message]
    stored = await parts.sessions.messages(turn.session_id)
    return [*(item.message for item in stored if item.turn_id != turn.id), message]


async def _resume(parts: Parts, emitter: Emitter) -> list[Message]:
    progress = emitter.progress
    if progress.attempt_open:
        emitter.emit(IterationSuperseded(attempt=progress.attempt, reason="server_restart", began=True))
    settle_interrupted(emitter)
    stored = await parts.sessions.messages(emitter.turn.session_id)
    return [item.message for item in stored]
