"""The one place where a model is asked for anything but a turn's answer: each call has a purpose, a time
limit and a number of attempts, and is reported once, however it ends.

A turn's own calls stream into its events (`turn/model_call.py`). What is measured of them is read from there,
into the same record (`ModelCall`).
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, Protocol

import structlog

from gateway.cancellation_shield import finish
from gateway.errors import GatewayError, ModelError
from gateway.ids import SteadyClock, new_operation_id, now_ms, trace_id_of
from gateway.messages import Message, Usage, text_block
from gateway.model.base import Answer, Delta, KeyOwner, Model, ModelRequest, Started
from gateway.model.endpoint_facts import EndpointFacts
from gateway.model.endpoint_queue import BACKGROUND_PATIENCE, GaveWay, Ticket
from gateway.model.prices import cost_of
from gateway.model.retry_delay import StartPatience
from gateway.model.strict_json import parse_object
from gateway.model.upstream_failures import timed_out, truncated
from gateway.settings import Settings

Purpose = Literal["answer", "compression", "summary", "memory", "memory_control", "artifact_summary", "title"]
"""What a model is asked for: the answer of a turn, the summary that takes the place of older messages, one
of a whole session, what is worth remembering, whether a message needs memories, a sentence about an
artifact, the title of a session."""

Problem = Literal["refused", "truncated", "invalid", "empty"]
"""Why an answer cannot be used as it came."""

_PROBLEMS: dict[str | None, Problem] = {
    "refusal": "refused",
    "max_tokens": "truncated",
    "model_context_window_exceeded": "truncated",
    "pause_turn": "invalid",
    "tool_use": "invalid",
}
"""By the stop reason. With another one, or none, a message that has its end is whole: servers disagree on
its name, as with the answer of a turn."""
_FENCE = "```"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CallContext:
    """On whose behalf a call is made (None: the gateway's own), and what it is a part of: a session and a
    turn of it, or an `operation` that is no turn and has a trace of its own (`ids.trace_id_of`). Without
    either the call is a trace by itself. `in_background`: nobody waits for it, and it gives way to turns at
    an endpoint of few slots."""

    owner: str | None
    session_id: str | None = None
    turn_id: str | None = None
    operation: str | None = None
    in_background: bool = False


NO_CONTEXT = CallContext(None)


@dataclass(frozen=True, slots=True)
class Superseded:
    """An attempt that failed at `at` (Unix ms) for `reason` (a code) and was repeated; `usage` is what it had
    reported."""

    reason: str
    usage: Usage | None
    at: int


@dataclass(slots=True, kw_only=True)
class ModelCall:
    """One logical model call with all its attempts. Times are Unix milliseconds.

    `usage` is what the last attempt reported, also when it broke off; `cost` (US dollars) is None when it is
    not known: no price, or no complete usage. `unreported` counts the attempts that began to answer and never
    reported their whole usage. `error` is the code of what went wrong; a call that was cancelled has neither
    that nor a `stop_reason`. `ttft_ms` is measured from the start of the last attempt to its first content.
    """

    model: str
    started_at: int
    purpose: Purpose = "answer"
    context: CallContext = NO_CONTEXT
    trace_id: str = ""
    max_tokens: int | None = None
    attempts: int = 1
    superseded: list[Superseded] = field(default_factory=list[Superseded])
    ended_at: int | None = None
    first_content_at: int | None = None
    ttft_ms: int | None = None
    stop_reason: str | None = None
    usage: Usage | None = None
    cost: float | None = None
    unreported: int = 0
    error: str | None = None
    response_id: str | None = None
    response_model: str | None = None
    key_of: KeyOwner | None = None

    @property
    def seconds(self) -> float:
        """From the first attempt's start to the end; 0 while it is open."""
        return max((self.ended_at or self.started_at) - self.started_at, 0) / 1000

    @property
    def seconds_to_first_chunk(self) -> float | None:
        """Until the first content of the last attempt, failed ones included. None when nothing came."""
        if self.ttft_ms is not None and self.attempts == 1:
            return self.ttft_ms / 1000  # measured nearer to the wire than an event's time
        if self.first_content_at is None:
            return None
        return max(self.first_content_at - self.started_at, 0) / 1000


@dataclass(slots=True)
class UsageSum:
    """The usage of the calls of one piece of work so far. `usage` is None before the first that reported
    any."""

    usage: Usage | None = None
    _known: float = 0.0
    _unknown: bool = False

    @property
    def cost(self) -> float | None:
        """US dollars; None before the first call that reported usage, and when the cost of one is unknown."""
        return None if self._unknown or self.usage is None else self._known

    def add(self, call: ModelCall) -> None:
        for usage in (*(attempt.usage for attempt in call.superseded), call.usage):
            if usage is not None:
                self.usage = usage if self.usage is None else self.usage + usage
        self._known += call.cost or 0.0
        self._unknown |= call.unreported > 0 or (call.usage is not None and call.cost is None)


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole answer. `written` is its text as it came, `problem` why that is not to be used."""

    written: str
    stop_reason: str | None
    problem: Problem | None

    def text(self) -> str:
        """The text. Raises ValueError: it is not to be used; the message is the reason, to follow "it is"."""
        match self.problem:
            case None:
                return self.written
            case "refused":
                raise ValueError("a refusal")
            case "truncated":
                raise ValueError(f"cut off ({self.stop_reason})")
            case "empty":
                raise ValueError("empty")
            case "invalid":
                raise ValueError(f"not finished: it ended with {self.stop_reason or 'no reason'}")

    def json(self) -> dict[str, Any]:
        """The JSON object that the text is. Raises ValueError as `text` and `read_json` do."""
        return read_json(self.text())


def read_json(text: str) -> dict[str, Any]:
    """The JSON object that a model wrote: alone, or in a code fence with anything before and after it.

    Raises:
        ValueError: there is not exactly one object, or none that every reader can carry (see
            `strict_json.parse_object`).
    """
    text = text.strip()
    opening, closing = text.find(_FENCE), text.rfind(_FENCE)
    if text.startswith("{") or opening == closing:
        return parse_object(text)
    fenced = text[opening + len(_FENCE) : closing]
    return parse_object(fenced[4:] if fenced[:4].lower() == "json" else fenced)


def request_of(model: str, instructions: str, text: str, *, max_tokens: int) -> ModelRequest:
    """A request without tools: `instructions` as the system prompt, `text` as the user's message."""
    return ModelRequest(
        model=model,
        max_tokens=max_tokens,
        system=[text_block(instructions)],
        messages=[Message("user", [text_block(text)])],
    )


class Spending(Protocol):
    """What calls are charged to."""

    async def take(self, request: ModelRequest, context: CallContext) -> Any:
        """Takes what the call may use; the result is for `settle`. Raises errors.LimitReached,
        errors.LimitsUnavailable: it must not be made."""
        ...

    async def settle(self, taken: Any, call: ModelCall) -> None:
        """Charges what a call that is over used, however it ended. Raises nothing."""
        ...


class ModelCalls:
    """One per process. `report` is given each call once, when it is over, also a failed one; it must not
    raise. Calls are charged to `spending`; None: to nothing."""

    def __init__(
        self,
        model: Model,
        settings: Settings,
        report: Callable[[ModelCall], None] = lambda _: None,
        spending: Spending | None = None,
    ) -> None:
        self._model = model
        self._settings = settings
        self._report = report
        self._spending = spending

    @property
    def facts(self) -> EndpointFacts:
        """What is known of the endpoint that is asked."""
        return self._model.facts

    async def ask(
        self,
        purpose: Purpose,
        request: ModelRequest,
        *,
        timeout: float,
        attempts: int = 1,
        context: CallContext = NO_CONTEXT,
        spent: UsageSum | None = None,
    ) -> Completion:
        """Asks, and again after a failure that passes: at most `attempts` times, and for `timeout` seconds
        in all, which begin when the endpoint has a slot for it. A call in the background that was stopped for
        a turn is made again later, and counts once. `spent` is kept up to date, also when this fails.

        Raises:
            ModelError: the last failure of the endpoint; or the time was over (upstream_timeout), or there
                was no slot for too long (upstream_overloaded).
            LimitReached, LimitsUnavailable: no limit of whoever causes it has room for it; nothing was asked.
        """
        queue = self._model.queue
        ask = partial(
            self._ask, purpose, request, timeout=timeout, attempts=attempts, context=context, spent=spent
        )
        while queue.slots is not None:
            join = queue.in_background if context.in_background else queue.in_turn
            try:
                async with join(context.owner, self._longest_wait(purpose, timeout, context)) as ticket:
                    return await ask(ticket=ticket)
            except GaveWay:
                log.info("model_call_gave_way", purpose=purpose, session_id=context.session_id)
        return await ask()

    def _longest_wait(self, purpose: Purpose, timeout: float, context: CallContext) -> float:
        """Seconds in the line. What is asked for to do without it, if need be, must be fast."""
        if purpose in {"memory_control", "artifact_summary"}:
            return timeout
        if not context.in_background:
            return max(timeout, self._settings.turn_timeout)
        # What makes summaries does other upkeep as well, and tries again by itself.
        return min(BACKGROUND_PATIENCE, 2 * timeout) if purpose == "summary" else BACKGROUND_PATIENCE

    async def _ask(
        self,
        purpose: Purpose,
        request: ModelRequest,
        *,
        timeout: float,
        attempts: int,
        context: CallContext,
        spent: UsageSum | None,
        ticket: Ticket | None = None,
    ) -> Completion:
        taken = None if self._spending is None else await self._spending.take(request, context)
        joined = context.turn_id or context.operation
        call = ModelCall(
            model=request.model,
            started_at=(clock := SteadyClock()).now(),
            purpose=purpose,
            context=context,
            trace_id=trace_id_of(joined or new_operation_id()),
            max_tokens=request.max_tokens,
            attempts=0,
        )
        try:
            async with asyncio.timeout(timeout):
                answer = await self._answer(call, replace(request, owner=context.owner), attempts)
            completion = _completion(answer)
            call.error = f"answer_{completion.problem}" if completion.problem else None
        except TimeoutError:
            call.error = "upstream_timeout"
            raise timed_out(f"The model did not answer within {timeout:g} seconds.") from None
        except GatewayError as error:
            call.error = error.code
            raise
        except Exception:
            call.error = GatewayError.code  # a mistake of ours
            raise
        finally:
            call.ended_at = clock.now()
            if ticket is not None and ticket.stopped and call.error is None and call.stop_reason is None:
                _uncount(call)
            else:
                if spent is not None:
                    spent.add(call)
                self._report(call)
            if self._spending is not None:
                await finish(self._spending.settle(taken, call))
        return completion

    async def _answer(self, call: ModelCall, request: ModelRequest, attempts: int) -> Answer:
        patience = StartPatience()
        while True:
            call.attempts += 1
            try:
                return await self._attempt(call, request)
            except ModelError as error:
                delay = patience.next_delay(error, call.attempts, attempts=attempts, settings=self._settings)
                if delay is None:
                    raise
                call.superseded.append(Superseded(error.code, call.usage, now_ms()))
                call.usage = call.first_content_at = call.ttft_ms = None
                is_starting = error.starts_within is not None
            if is_starting:
                await self._model.started(patience.left)
            await asyncio.sleep(delay)

    async def _attempt(self, call: ModelCall, request: ModelRequest) -> Answer:
        clock, is_reported = SteadyClock(), True
        asked_at = clock.now()
        try:
            async with self._model.stream(request) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, Delta):
                        if call.first_content_at is None:
                            call.first_content_at = clock.now()
                            call.ttft_ms = call.first_content_at - asked_at
                        continue
                    is_reported = isinstance(chunk, Answer) and chunk.usage is not None
                    _note(call, chunk)
                    if isinstance(chunk, Answer):
                        return chunk
        finally:
            call.unreported += not is_reported
        raise truncated()


def _uncount(call: ModelCall) -> None:
    """What a call used that is made again is not charged."""
    call.usage, call.cost, call.unreported = None, None, 0
    call.superseded.clear()


def _note(call: ModelCall, chunk: Started | Answer) -> None:
    call.usage = chunk.usage or call.usage
    call.response_id, call.response_model = chunk.response_id, chunk.model
    call.key_of = chunk.key_of
    if isinstance(chunk, Answer):
        call.stop_reason = chunk.stop_reason or "unknown"
        if chunk.usage is not None:
            call.cost = cost_of(chunk.model or call.model, chunk.usage)


def _completion(answer: Answer) -> Completion:
    blocks: Sequence[dict[str, Any]] = [block for block in answer.content if block["type"] == "text"]
    written = "".join(block["text"] for block in blocks).strip()
    problem = _PROBLEMS.get(answer.stop_reason)
    return Completion(written, answer.stop_reason, problem or (None if written else "empty"))
