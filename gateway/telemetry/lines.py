"""One log line where something happened that a person may look for."""

from typing import Any

import structlog

from gateway.messages import Usage
from gateway.telemetry.base import Call, Reader, ToolRun, Turn
from gateway.telemetry.observer import FAILURES

log = structlog.get_logger(__name__)

_LONGEST_MESSAGE = 500
"""Characters. What an endpoint says about a failure may quote the prompt at length."""


class Lines(Reader):
    """Writes turns, failures and warnings to the log. Neither prompts, answers nor tool results."""

    def turn_started(self, turn: Turn) -> None:
        _line(turn).info("turn started" if turn.whole else "turn resumed", model=turn.model)

    def call_retried(self, turn: Turn, call: Call, reason: str, usage: Usage | None, at: int) -> None:
        _line(turn).warning(
            "model call repeated",
            model=call.model,
            iteration=call.iteration,
            attempt=call.attempts,
            reason=reason,
        )

    def tool_ended(self, turn: Turn, run: ToolRun) -> None:
        if run.status not in {"ok", None}:
            _line(turn).warning(
                "tool call not ok",
                tool=run.name,
                tool_call_id=run.call_id,
                status=run.status,
                duration_ms=run.duration_ms,
            )

    def warned(self, turn: Turn, data: dict[str, Any]) -> None:
        _line(turn).warning("turn warning", code=data["code"], message=data["message"][:_LONGEST_MESSAGE])

    def failed(self, turn: Turn, data: dict[str, Any]) -> None:
        _line(turn).error(
            "turn error",
            code=data["code"],
            message=data["message"][:_LONGEST_MESSAGE],
            retryable=data["retryable"],
        )

    def turn_ended(self, turn: Turn) -> None:
        totals = {key: value for key, value in turn.totals.items() if key not in {"status", "usage"}}
        line = _line(turn).bind(status=turn.outcome, tool_calls=turn.tool_calls, **totals)
        line = line.bind(**turn.totals.get("usage", {}))
        if turn.outcome in FAILURES:
            line.error("turn done", code=turn.error)
        else:
            line.info("turn done")

    def turn_lost(self, turn: Turn) -> None:
        _line(turn).info("turn no longer followed", last_seq=turn.last_seq)


def _line(turn: Turn) -> structlog.stdlib.BoundLogger:
    ids = {"session_id": turn.session_id, "turn_id": turn.id, "trace_id": turn.trace_id}
    context = turn.span.get_span_context()
    if context.is_valid:
        ids["span_id"] = f"{context.span_id:016x}"
    return log.bind(**ids)
