"""One tool call that may run: checked, run in time, and what came of it as its result."""

import re
import traceback
from functools import lru_cache
from time import monotonic
from typing import Any

import orjson
import structlog
from jsonschema import Draft202012Validator

from gateway.errors import BadArguments, ToolError, ToolTimedOut
from gateway.events.calls import ResultStatus, ToolResult
from gateway.events.content import Retrieval
from gateway.events.envelope import EventData
from gateway.events.lifecycle import TurnWarning
from gateway.messages import clean_text
from gateway.tools.base import Tool, ToolContext, ToolOutput
from gateway.tools.registry import Tools
from gateway.tools.running import run_in_time
from gateway.tools.wrapping import WRAPPER_TAGS
from gateway.turn.emitter import Emitter
from gateway.turn.parts import Parts
from gateway.turn.progress import CallState
from gateway.turn.remembering import WriteSource

_CLOSING = re.compile(rf"(</(?:{'|'.join(WRAPPER_TAGS)})>)\s*\Z")

log = structlog.get_logger(__name__)


async def run_call(
    call_id: str, state: CallState, tools: Tools, emitter: Emitter, parts: Parts
) -> ToolResult:
    """Runs one call, whatever its tool does; the caller emits the result."""
    started = monotonic()
    status: ResultStatus = "error"
    output: ToolOutput | None = None
    context = _context(call_id, emitter, parts)
    try:
        tool = tools.get(state.name)
        check_arguments(tool, state.arguments)
        output = await run_in_time(tool, state.arguments, context)
        status = "error" if output.is_error else "ok"
        content = output.content
    except ToolTimedOut as error:
        status, content = "timeout", error.message
    except ToolError as error:
        content = error.message
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
    if state.edited:
        content = f"{_edited(state.arguments)}\n{content}"
    result = tool_result(state.name, status, _shorten(content, parts.settings.tool_output_limit), duration_ms)
    return _with_report(result, output, context, emitter, parts)


def check_arguments(tool: Tool, arguments: dict[str, Any]) -> None:
    """Raises errors.BadArguments, with what is wrong, when they do not fit the tool's schema."""
    schema = orjson.dumps(tool.spec.input_schema, option=orjson.OPT_SORT_KEYS)
    for problem in _validator(schema).iter_errors(arguments):
        where = "/".join(str(part) for part in problem.absolute_path) or "the arguments"
        raise BadArguments(f"{where}: {problem.message[:500]}")


def tool_result(name: str, status: ResultStatus, content: str, duration_ms: int = 0) -> ToolResult:
    return ToolResult(name=name, status=status, content=content, duration_ms=duration_ms)


def _with_report(
    result: ToolResult, output: ToolOutput | None, context: ToolContext, emitter: Emitter, parts: Parts
) -> ToolResult:
    """The result with what the tool told beside its content; suggestions for the memory are handed on."""
    call_id = context.tool_call_id
    steps = context.steps.told(output.steps if output is not None else ())
    if output is None:
        return result.model_copy(update={"steps": list(steps)}) if steps else result
    for problem in output.problems:
        emitter.emit(
            TurnWarning(code="tool_report", message=f"{result.name}: {problem}"), tool_call_id=call_id
        )
    writes = list(output.memory_writes)
    if writes:
        turn = emitter.turn
        source = WriteSource(turn.owner, turn.session_id, turn.id, call_id, result.name)
        parts.remembering.hand_over(writes, source)
    return result.model_copy(update={"steps": list(steps) or None, "memory_writes": writes or None})


def _context(call_id: str, emitter: Emitter, parts: Parts) -> ToolContext:
    turn = emitter.turn

    def emit(data: EventData) -> None:
        if parts.settings.retrieval_events or not isinstance(data, Retrieval):
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


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> Draft202012Validator:
    return Draft202012Validator(orjson.loads(schema))


def _places(error: BaseException) -> list[str]:
    """Where in the code an exception came from, the innermost place last."""
    frames = traceback.extract_tb(error.__traceback__)[-5:]
    return [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]


def _edited(arguments: dict[str, Any]) -> str:
    return (
        f"[The user changed the arguments before approving. It ran with: {orjson.dumps(arguments).decode()}]"
    )


def _shorten(content: str, limit: int) -> str:
    """At most `limit` characters and a word on what was cut; text that was wrapped as data stays so."""
    content = clean_text(content)
    if len(content) <= limit:
        return content
    told = f"{content[:limit]}\n[... truncated: {limit} of {len(content)} characters shown ...]"
    return f"{told}\n{closing[1]}" if (closing := _CLOSING.search(content)) else told
