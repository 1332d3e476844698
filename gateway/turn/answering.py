"""The results of the tool calls of one message, until all are there and the history goes on."""

from collections.abc import Mapping

from gateway.events.calls import ToolResult
from gateway.messages import Message, tool_result_block
from gateway.turn.emitter import Emitter


def answer_call(emitter: Emitter, call_id: str, result: ToolResult) -> None:
    """Emits the one result of a call; with the last one the message that answers all joins the history."""
    calls = emitter.progress.calls
    results = {each: result if each == call_id else state.result for each, state in calls.items()}
    message = answer_of(results) if None not in results.values() else None
    emitter.emit(result, tool_call_id=call_id, message=message)


def answer_of(results: Mapping[str, ToolResult | None]) -> Message:
    """The user message that carries the results, in the order of the calls."""
    return Message(
        "user",
        [
            tool_result_block(call_id, result.content, is_error=result.status != "ok")
            for call_id, result in results.items()
            if result is not None
        ],
    )
