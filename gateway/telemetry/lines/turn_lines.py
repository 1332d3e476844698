"""One log line where something happened that a person may look for."""

from datetime import UTC, datetime
from typing import Any

import structlog
from opentelemetry.trace import Span

from gateway.artifacts.store_events import ArtifactEvent, Damaged, Stored, StoreFailed, Swept
from gateway.ids import root_span_id, trace_id_of
from gateway.memory.changes import Changed
from gateway.messages import Usage
from gateway.model.side_calls import ModelCall
from gateway.telemetry import semconv
from gateway.telemetry.observer import FAILURES
from gateway.telemetry.semconv import OTHER
from gateway.telemetry.spans.span_attributes import changer, retrieval_facts
from gateway.telemetry.tool_facts import ApprovalState, SkillUse, ToolRun
from gateway.telemetry.turn_facts import Call, SessionArchived, TelemetryReader, TurnFacts

log = structlog.get_logger(__name__)

_MAX_MESSAGE_LENGTH = 500
"""Characters. The failure message of an endpoint may quote the prompt at length."""
OF_OPERATORS = frozenset(
    {
        *("artifact_not_kept", "compression_paused", "events_lost", "memory_unavailable"),
        *("prompt_component", "prompt_too_long", "tool_report"),
    }
)
"""Warnings of turns that an operator can do something about. All others are the user's: something was
forgotten, a prompt was edited, a limit was reached."""
_COMPRESSION = ("trigger", "version", "tokens_before", "tokens_after", "cost", "duration_ms")


class Lines(TelemetryReader):
    """Writes turns, failures, warnings and upkeep to the log. Neither prompts, answers nor tool results; what
    of an endpoint's failure the message, which may quote the prompt, only with `messages`."""

    def __init__(self, *, messages: bool = False) -> None:
        self._messages = messages

    def turn_started(self, turn: TurnFacts) -> None:
        line = _line(turn).bind(model=turn.model)
        if turn.queued_ms:
            line = line.bind(queued_ms=turn.queued_ms)
        if turn.attachments:
            line = line.bind(attachments=turn.attachments, attached_size=turn.attached_size)
        line.info("turn resumed" if turn.resumed else "turn started")

    def call_ended(self, turn: TurnFacts, call: Call) -> None:
        _line(turn, call.span).debug(
            "model call done",
            model=call.model,
            iteration=call.iteration,
            attempts=call.attempts,
            stop_reason=call.stop_reason,
            ttft_ms=call.ttft_ms,
            duration_ms=int(call.seconds * 1000),
            code=call.error,
        )

    def call_retried(self, turn: TurnFacts, call: Call, reason: str, usage: Usage | None, at: int) -> None:
        _line(turn).warning(
            "model call repeated",
            model=call.model,
            iteration=call.iteration,
            attempt=call.attempts,
            reason=reason,
        )

    def approval_ended(self, turn: TurnFacts, run: ToolRun, approval: ApprovalState) -> None:
        if approval.decision is not None:
            _line(turn, approval.span).info(
                "approval decided",
                tool=run.name,
                tool_call_id=run.call_id,
                decision=approval.decision,
                by=approval.kind,
                scope=approval.scope,
                waited_ms=approval.waited_ms,
            )

    def skill_used(self, turn: TurnFacts, run: ToolRun | None, use: SkillUse) -> None:
        line = _line(turn, run.span if run else None)
        line = line.bind(tool_call_id=run.call_id) if run else line
        line.info(f"skill {use.action}", skill=use.name, type=use.type, path=use.path, digest=use.digest)

    def on_steps(self, turn: TurnFacts, run: ToolRun) -> None:
        for step in run.steps:
            _line(turn, step.span).debug(
                "tool step",
                tool=run.name,
                tool_call_id=run.call_id,
                step=step.name,
                step_id=step.id,
                duration_ms=step.ended_at - step.started_at,
                error=step.error,
            )

    def tool_ended(self, turn: TurnFacts, run: ToolRun) -> None:
        line = _line(turn, run.span).bind(
            tool=run.name, tool_call_id=run.call_id, status=run.status, duration_ms=run.duration_ms
        )
        if run.status in {"ok", "denied"}:  # who denied it has a line
            line.debug("tool call done")
        elif run.status is not None:
            line.warning("tool call not ok")

    def retrieved(self, turn: TurnFacts, run: ToolRun | None, data: dict[str, Any], at: int) -> None:
        facts = retrieval_facts(data)
        _line(turn, run.span if run else None).debug(
            "retrieval done",
            source=data["source"],
            mode=data.get("mode"),
            results=facts[semconv.RETRIEVAL_RESULTS],
            told=facts.get(semconv.RETRIEVAL_SHOWN),
            omitted=data.get("omitted"),
            tokens=data["tokens"],
            degraded=facts[semconv.RETRIEVAL_DEGRADED],
            duration_ms=data.get("duration_ms"),
        )

    def memory_changed(self, changed: Changed) -> None:
        row, turn_id = changed.row, changed.by.turn_id
        line = log.bind(turn_id=turn_id, trace_id=trace_id_of(turn_id)) if turn_id else log
        line.info(
            "memory changed",
            op=changed.event.op,
            memory_id=row.id,
            kind=row.type,
            by=changer(changed.by.actor, suggested=turn_id is not None),
            version=row.version,
            status=row.status,
            quarantined=row.quarantined,
            superseded_by=row.superseded_by,
        )

    def artifact_event(self, event: ArtifactEvent) -> None:
        match event:
            case Stored(row=row, source=source):
                line = _made_in(row.session_id, row.turn_id).bind(ref=row.ref, kind=row.kind, size=row.size)
                if source == "tool":
                    line = line.bind(tool=row.metadata.get("tool"), tool_call_id=row.tool_call_id)
                line.info("artifact_kept", source=source)
            case StoreFailed(source=source, code=code, session_id=session_id, turn_id=turn_id):
                if source != "tool":  # a tool's result is logged with the tool
                    _made_in(session_id, turn_id).warning("artifact_not_kept", source=source, code=code)
            case Damaged(row=row, missing=missing):
                line = _made_in(row.session_id, row.turn_id).bind(ref=row.ref, sha256=row.sha256)
                line.error("artifact_damaged", reason="missing" if missing else "changed")
            case Swept(expired=expired, removed=removed) if expired or removed:
                log.info("artifacts_swept", expired=expired, blobs=removed)
            case _:
                pass

    def warned(self, turn: TurnFacts, data: dict[str, Any]) -> None:
        line = _line(turn)
        say = line.warning if data["code"] in OF_OPERATORS else line.info
        say("turn warning", code=data["code"], message=data["message"][:_MAX_MESSAGE_LENGTH])

    def failed(self, turn: TurnFacts, data: dict[str, Any]) -> None:
        line = _line(turn).bind(code=data["code"], retryable=data["retryable"])
        if self._messages:
            line = line.bind(message=data["message"][:_MAX_MESSAGE_LENGTH])
        line.error("turn error")

    def compressed(self, turn: TurnFacts | None, session_id: str, data: dict[str, Any], at: int) -> None:
        if turn is not None:  # `operated` has the others, with their operation
            self._log_compression(_line(turn), data)

    def operated(self, body: dict[str, Any]) -> None:
        if body["type"] == "compression":
            work_id = body["turn_id"]
            line = _beside(body["session_id"], trace_id_of(work_id)).bind(operation_id=work_id)
            self._log_compression(line, body["data"])

    def model_called(self, call: ModelCall) -> None:
        context = call.context
        line = _made_in(context.session_id, context.turn_id).bind(
            trace_id=call.trace_id, model=call.model, purpose=call.purpose
        )
        for number, attempt in enumerate(call.superseded, 1):
            at = datetime.fromtimestamp(attempt.at / 1000, UTC).isoformat(timespec="milliseconds")
            line.warning("model call repeated", attempt=number, reason=attempt.reason, at=at)
        line = line.bind(
            attempts=call.attempts,
            stop_reason=call.stop_reason,
            ttft_ms=call.ttft_ms,
            duration_ms=int(call.seconds * 1000),
            tokens=call.usage.total if call.usage is not None else None,
            cost=call.cost,
        )
        if call.error is not None:
            line.warning("model call failed", code=call.error)
        elif call.stop_reason is None:
            line.info("model call stopped")
        else:
            line.debug("model call done")

    def archived(self, archived: SessionArchived) -> None:
        line = _beside(archived.session_id, archived.trace_id)
        line = line.bind(started_at=archived.started_at, duration_ms=archived.ended_at - archived.started_at)
        if archived.error is None:
            line.debug("archive done")
        else:
            line.warning("archive failed", code=archived.error)

    def rated(self, body: dict[str, Any]) -> None:
        data, line = body["data"], _made_in(body["session_id"], body["turn_id"])
        line.info("turn rated", rating=data["rating"], of=data["of"])

    def turn_ended(self, turn: TurnFacts) -> None:
        totals = {key: value for key, value in turn.totals.items() if key not in {"status", "usage"}}
        line = _line(turn).bind(status=turn.outcome, tool_calls=turn.tool_calls, **totals)
        if turn.waited_ms:
            line = line.bind(waited_ms=turn.waited_ms)
        line = line.bind(**turn.totals.get("usage", {}))
        if turn.outcome in FAILURES:
            line.error("turn done", code=turn.error)
        else:
            line.info("turn done")

    def turn_lost(self, turn: TurnFacts) -> None:
        _line(turn).info("turn no longer followed", last_seq=turn.last_seq)

    def turn_left(self, turn: TurnFacts) -> None:
        waits = turn.waiting_since is not None
        event = "turn waits, no longer followed" if waits else "turn left to the next process"
        _line(turn).info(event, last_seq=turn.last_seq)

    def _log_compression(self, line: structlog.stdlib.BoundLogger, data: dict[str, Any]) -> None:
        facts = {name: data[name] for name in _COMPRESSION if name in data}
        match data["phase"]:
            case "failed":
                code = data.get("reason", OTHER)
                line.warning(
                    "compression failed", code=code if self._messages else code.partition(":")[0], **facts
                )
            case "completed":
                line.info("compression done", **facts)
            case _:
                line.debug("compression started", **facts)


def _beside(session_id: str, trace_id: str) -> structlog.stdlib.BoundLogger:
    """A line of what has a trace of its own."""
    return log.bind(session_id=session_id, trace_id=trace_id, span_id=root_span_id(trace_id))


def _made_in(session_id: str | None, turn_id: str | None) -> structlog.stdlib.BoundLogger:
    """A line of what was made in a session and a turn, as far as there was such."""
    ids = {"session_id": session_id, "turn_id": turn_id}
    if turn_id is not None:
        ids["trace_id"] = trace_id_of(turn_id)
    return log.bind(**{name: value for name, value in ids.items() if value is not None})


def _line(turn: TurnFacts, span: Span | None = None) -> structlog.stdlib.BoundLogger:
    ids = {"session_id": turn.session_id, "turn_id": turn.id, "trace_id": turn.trace_id}
    if turn.dialect is not None:
        ids["dialect"] = turn.dialect
    context = (span or turn.span).get_span_context()
    if context.is_valid:
        ids["span_id"] = f"{context.span_id:016x}"
    return log.bind(**ids)
