"""How a turn begins and ends: `turn_start`; limits; and `done`, after all open calls have their end."""

from dataclasses import dataclass

from gateway.events.lifecycle import (
    Done,
    ErrorCode,
    IterationEnd,
    Outcome,
    TurnError,
    TurnStart,
    TurnWarning,
    attached_files,
)
from gateway.events.tool_calls import CallResult, ResultStatus
from gateway.ids import now_ms, trace_id_of
from gateway.messages import Message, attached_block, text_block
from gateway.storage.log import Closing
from gateway.storage.projects import member_handle
from gateway.storage.schedules import DIALECT as SCHEDULE
from gateway.storage.turns import TurnRow
from gateway.tools.wrapping import wrap
from gateway.turn.emitter import Emitter
from gateway.turn.observer import Tracing
from gateway.turn.progress import CALLS_PER_STEP, TurnProgress

STOPPED = "The user stopped the turn while this call was open."
ENDED = "The turn ended while this call was open."
ENDED_WHILE_RUNNING = (
    "The turn ended while this call ran. It may or may not have taken effect: verify before trying again."
)

SENT_BY_SCHEDULE = (
    "A schedule of the user's sends this message now. It is their request: do what it asks. Nobody is there "
    "to answer questions. They made the schedule earlier, so this tells nothing new about them."
)
"""Stands above the message of a schedule. Its tags mark the message as not the user's own words: nothing is
learned about the user from it, however often it is sent."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ends. `error` explains failed and interrupted turns, `warning` reached limits."""

    outcome: Outcome
    error: TurnError | None = None
    warning: TurnWarning | None = None


COMPLETED = Ending("completed")
CANCELLED = Ending("cancelled")


def failed(code: ErrorCode, message: str, *, retryable: bool) -> Ending:
    return Ending("failed", error=TurnError(code=code, message=message, retryable=retryable))


def ended_with_warning(outcome: Outcome, code: str, message: str) -> Ending:
    """An ending that is no failure, with a warning that explains it."""
    return Ending(outcome, warning=TurnWarning(code=code, message=message))


def access_ended(why: str) -> Ending:
    """The ending of a turn whose sender lost what it rested on: a key, a sign-in, a membership."""
    return ended_with_warning("cancelled", "access_ended", why)


@dataclass(frozen=True, slots=True)
class TurnBounds:
    """Bounds of one turn: model calls, tokens in and out (None: unbounded), seconds."""

    iterations: int
    tokens: int | None
    seconds: float


def out_of_time(limits: TurnBounds) -> Ending:
    return ended_with_warning(
        "limit_reached", "budget_exceeded", f"Stopped after {limits.seconds:g} seconds."
    )


def begin_turn(emitter: Emitter) -> Message:
    """Emits `turn_start`, with which the user's message joins the history, and returns that message."""
    turn = emitter.turn
    files = [attached_block(each) for each in turn.attachments]
    text = turn.input if turn.dialect != SCHEDULE else wrap("scheduled_message", SENT_BY_SCHEDULE, turn.input)
    message = Message("user", [*files, *([text_block(text)] if text.strip() else [])])
    # The model call comes next: waiting for this commit would only delay the answer.
    emitter.emit(start_of(turn, emitter.tracing, emitter.queued_ms), message=message, can_wait=True)
    return message


def start_of(turn: TurnRow, tracing: Tracing, queued_ms: int | None) -> TurnStart:
    """The first event of a turn, which waited `queued_ms` for others, if it did."""
    trace_id = trace_id_of(turn.id)
    return TurnStart(
        input=turn.input,
        model=turn.model,
        trace_id=trace_id,
        client_message_id=turn.client_message_id,
        queued_ms=queued_ms,
        trace_url=tracing.url_of(trace_id),
        attachments=attached_files(turn.attachments),
        parent_turn_id=turn.parent_turn_id,
        dialect=turn.dialect,
        by=member_handle(turn.project_id, turn.owner) if turn.is_shared and turn.project_id else None,
    )


async def finalize_turn(emitter: Emitter, ending: Ending) -> None:
    """Ends an open model call (what it streamed is kept as its message), answers open tool calls, and emits
    the error, if any, and `done`. The caller waits for `emitter.flush()`. However many calls are open,
    others get their share of the event loop meanwhile.

    Raises:
        StorageError: an earlier append failed.
    """
    progress = emitter.progress
    if progress.started_at is None:
        begin_turn(emitter)
    if progress.attempt_open:
        text = progress.text.decode()
        emitter.emit(
            IterationEnd(
                usage=progress.attempt_usage, duration_ms=max(0, progress.clock.now() - progress.attempt_at)
            ),
            message=Message("assistant", [text_block(text)]) if text.strip() else None,
        )
    if progress.unanswered:
        await _answer_open_calls(emitter, ending.outcome)
    if ending.warning is not None:
        emitter.emit(ending.warning)
    if ending.error is not None:
        emitter.emit(ending.error)
    emitter.iteration = None
    now = progress.clock.of(at := now_ms())
    closing = Closing(
        ending.outcome,
        progress.iteration,
        progress.usage,
        _cost(progress),
        at,
        progress.prefix_hash,
        progress.unreported,
    )
    emitter.emit(
        Done(
            status=ending.outcome,
            stop_reason=progress.stop_reason,
            usage=closing.usage,
            usage_unreported=progress.unreported or None,
            cost=closing.cost,
            iterations=closing.iterations,
            duration_ms=max(0, now - (progress.started_at or now)),
            ttft_ms=_first_text(progress),
        ),
        closing=closing,
    )


async def _answer_open_calls(emitter: Emitter, outcome: Outcome) -> None:
    progress, ended = emitter.progress, STOPPED if outcome == "cancelled" else ENDED
    async for call_id, state in progress.open_calls():
        if progress.unanswered % CALLS_PER_STEP == 0:
            await emitter.flush()
        status: ResultStatus = "unknown_outcome" if state.may_have_run else "cancelled"
        content = ENDED_WHILE_RUNNING if state.may_have_run else ended
        result = CallResult(name=state.name, status=status, content=content, duration_ms=0)
        emitter.emit(result, tool_call_id=call_id, message=progress.results_message(call_id, result))


def _first_text(progress: TurnProgress) -> int | None:
    if progress.first_text_at is None or progress.started_at is None:
        return None
    return max(0, progress.first_text_at - progress.started_at)


def _cost(progress: TurnProgress) -> float | None:
    return progress.cost if progress.usage is not None else None
