"""The tool calls of one message: intents recorded, run side by side, results in the order of the calls."""

import asyncio
import traceback
from collections.abc import Mapping
from functools import lru_cache
from time import monotonic
from typing import Any

import orjson
import structlog
from jsonschema import Draft202012Validator

from gateway.errors import BadArguments, ToolError, ToolTimedOut
from gateway.events.calls import ResultStatus, ToolCall, ToolResult
from gateway.events.content import Retrieval
from gateway.events.envelope import EventData
from gateway.messages import Message, clean_text, tool_result_block
from gateway.model.base import Answer
from gateway.settings import Settings
from gateway.tools.base import Tool, ToolContext, ToolOutput
from gateway.tools.registry import Tools
from gateway.turn.emitter import Emitter
from gateway.turn.progress import CallState

CONCURRENT_CALLS = 16
"""Calls of one message that run at the same time; more wait their turn."""

UNKNOWN_OUTCOME = (
    "The server stopped while this call ran. It may or may not have taken effect: verify before trying again."
)

log = structlog.get_logger(__name__)


def record_intents(answer: Answer, tools: Tools, emitter: Emitter) -> None:
    """Emits a tool_call for every call of a complete message. One whose arguments are no JSON object never
    runs: it counts as effectful, so that nobody repeats it should the process end before it is refused."""
    for call in answer.content:
        if call["type"] == "tool_use":
            name, call_id = call["name"], call["id"]
            known = name in tools and call_id not in answer.bad_inputs
            effect = tools.get(name).effect if known else "effectful"
            emitter.emit(ToolCall(name=name, arguments=call["input"], effect=effect), tool_call_id=call_id)


def refuse_bad_inputs(answer: Answer, emitter: Emitter) -> None:
    """Answers the calls whose arguments the model did not write as a JSON object."""
    for call_id, problem in answer.bad_inputs.items():
        if (state := emitter.progress.calls.get(call_id)) is not None:
            content = f"The arguments are not a valid JSON object: {problem}. Nothing was run."
            answer_call(emitter, call_id, _result(state.name, "error", content))


def settle_interrupted(emitter: Emitter) -> None:
    """Answers open calls of a former process that must not be repeated; read_only and idempotent ones stay
    open and run again under the same idempotency key."""
    for call_id, state in list(emitter.progress.calls.items()):
        if state.result is None and state.effect == "effectful":
            answer_call(emitter, call_id, _result(state.name, "unknown_outcome", UNKNOWN_OUTCOME))


def answer_call(emitter: Emitter, call_id: str, result: ToolResult) -> None:
    """Emits the one result of a call; with the last one the message that answers all joins the history."""
    calls = emitter.progress.calls
    results = {each: result if each == call_id else state.result for each, state in calls.items()}
    message = _answer(results) if None not in results.values() else None
    emitter.emit(result, tool_call_id=call_id, message=message)


async def run_tool_calls(tools: Tools, emitter: Emitter, settings: Settings) -> Message:
    """Runs the recorded calls that have no result yet and returns the message that answers all of them.

    Every intent is durable before any tool starts, every result before the model is asked again.

    Raises:
        StorageError: the log failed. Whatever a tool raises becomes a result.
    """
    await emitter.settled()
    calls = emitter.progress.calls
    places = asyncio.Semaphore(CONCURRENT_CALLS)

    async def answer(call_id: str, state: CallState) -> None:
        async with places:
            result = await _run(call_id, state, tools, emitter, settings)
        answer_call(emitter, call_id, result)

    try:
        async with asyncio.TaskGroup() as group:
            for call_id, state in calls.items():
                if state.result is None:
                    group.create_task(answer(call_id, state))
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    await emitter.settled()
    return _answer({call_id: state.result for call_id, state in calls.items()})


def _answer(results: Mapping[str, ToolResult | None]) -> Message:
    """The user message that carries the results, in the order of the calls."""
    return Message(
        "user",
        [
            tool_result_block(call_id, result.content, is_error=result.status != "ok")
            for call_id, result in results.items()
            if result is not None
        ],
    )


async def _run(
    call_id: str, state: CallState, tools: Tools, emitter: Emitter, settings: Settings
) -> ToolResult:
    started = monotonic()
    status: ResultStatus = "error"
    try:
        tool = tools.get(state.name)
        _validate(tool, state.arguments)
        output = await _run_in_time(tool, state.arguments, _context(call_id, emitter, settings))
        status = "error" if output.is_error else "ok"
        content = output.content
    except ToolTimedOut as error:
        status, content = "timeout", error.message
    except ToolError as error:
        content = error.message
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        content = "The tool gave up: something it waited for was cancelled."
    except Exception as error:  # noqa: BLE001 - a tool may raise anything; the model is told that it failed
        # Not the exception itself: what a tool says about its arguments is content.
        log.warning(
            "tool_raised",
            tool=state.name,
            tool_call_id=call_id,
            error=type(error).__name__,
            at=_places(error),
        )
        content = f"The tool failed: {type(error).__name__}."
    duration_ms = int((monotonic() - started) * 1000)
    return _result(state.name, status, _shorten(content, settings.tool_output_limit), duration_ms)


async def _run_in_time(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> ToolOutput:
    limit = asyncio.timeout(tool.timeout)
    try:
        async with limit:
            return await tool.run(arguments, context)
    except TimeoutError as error:
        if limit.expired():
            raise ToolTimedOut(f"The tool gave no answer within {tool.timeout:g} seconds.") from error
        raise


def _context(call_id: str, emitter: Emitter, settings: Settings) -> ToolContext:
    turn = emitter.turn

    def emit(data: EventData) -> None:
        if settings.retrieval_events or not isinstance(data, Retrieval):
            emitter.emit(data, tool_call_id=call_id)

    return ToolContext(
        session_id=turn.session_id,
        turn_id=turn.id,
        tool_call_id=call_id,
        owner=turn.owner,
        idempotency_key=f"{turn.id}:{call_id}",
        emit=emit,
        traceparent=emitter.tracing.traceparent(emitter.progress.trace_id, call_id),
    )


def _validate(tool: Tool, arguments: dict[str, Any]) -> None:
    schema = orjson.dumps(tool.spec.input_schema, option=orjson.OPT_SORT_KEYS)
    for problem in _validator(schema).iter_errors(arguments):
        where = "/".join(str(part) for part in problem.absolute_path) or "the arguments"
        raise BadArguments(f"{where}: {problem.message[:500]}")


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> Draft202012Validator:
    return Draft202012Validator(orjson.loads(schema))


def _places(error: BaseException) -> list[str]:
    """Where in the code an exception came from, the innermost place last."""
    frames = traceback.extract_tb(error.__traceback__)[-5:]
    return [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]


def _shorten(content: str, limit: int) -> str:
    content = clean_text(content)
    if len(content) <= limit:
        return content
    return f"{content[:limit]}\n[... truncated: {limit} of {len(content)} characters shown ...]"


def _result(name: str, status: ResultStatus, content: str, duration_ms: int = 0) -> ToolResult:
    return ToolResult(name=name, status=status, content=content, duration_ms=duration_ms)
