"""Folds the events of tool calls: intents, questions and decisions, skills, results."""

from collections.abc import Sequence
from typing import Any

from gateway.telemetry.semconv import TOOL_ERRORS
from gateway.telemetry.tool_facts import ApprovalState, SkillUse, ToolRun, steps_of
from gateway.telemetry.turn_facts import TelemetryReader, TurnFacts


class ToolEvents:
    """Keeps `turn.tools`, and calls `readers` for each call."""

    def __init__(self, readers: Sequence[TelemetryReader]) -> None:
        self._readers = readers

    def take(self, turn: TurnFacts, event_type: str, body: dict[str, Any]) -> None:
        """One event with a tool_call_id; types that do not concern a call are ignored."""
        call_id, data, at = body.get("tool_call_id", ""), body["data"], body["ts"]
        match event_type:
            case "tool_call":
                self._start(turn, call_id, data, at)
            case "approval_request":
                self._ask(turn, call_id, at)
            case "approval_response":
                self._decide(turn, call_id, data, at)
            case "skill":
                use = SkillUse.from_event(data, at)
                for reader in self._readers:
                    reader.skill_used(turn, turn.tools.get(call_id), use)
            case "tool_result":
                self._end(turn, call_id, data, at)
            case _:
                return
        turn.note_wait(at)

    def emit_open(self, turn: TurnFacts) -> None:
        """Calls the readers for the open calls that came before them."""
        for run in turn.tools.values():
            for reader in self._readers:
                reader.tool_started(turn, run)
            if run.approval is not None and run.waits:
                for reader in self._readers:
                    reader.approval_asked(turn, run, run.approval)

    def close_open(self, turn: TurnFacts, at: int) -> None:
        """Ends the calls that will get no result."""
        for run in list(turn.tools.values()):
            self._close(turn, run, at)
        turn.note_wait(at)

    def _start(self, turn: TurnFacts, call_id: str, data: dict[str, Any], at: int) -> ToolRun:
        run = ToolRun(call_id=call_id, name=data["name"], started_at=at, effect=data.get("effect"))
        run.on_client = data.get("runs_on") == "client"
        run.first_seq = turn.last_seq
        turn.tools[call_id] = run
        for reader in self._readers:
            reader.tool_started(turn, run)
        return run

    def _ask(self, turn: TurnFacts, call_id: str, at: int) -> None:
        if (run := turn.tools.get(call_id)) is None:
            return
        run.approval = ApprovalState(turn.last_seq, asked_at=at)
        for reader in self._readers:
            reader.approval_asked(turn, run, run.approval)

    def _decide(self, turn: TurnFacts, call_id: str, data: dict[str, Any], at: int) -> None:
        if (run := turn.tools.get(call_id)) is None:
            return
        approval = run.approval = run.approval or ApprovalState(turn.last_seq)
        approval.decision, approval.by, approval.scope = data["decision"], data["by"], data.get("scope")
        self._end_approval(turn, run, approval, at)

    def _end_approval(self, turn: TurnFacts, run: ToolRun, approval: ApprovalState, at: int) -> None:
        approval.ended_at = at
        for reader in self._readers:
            reader.approval_ended(turn, run, approval)

    def _end(self, turn: TurnFacts, call_id: str, data: dict[str, Any], at: int) -> None:
        run = turn.tools.get(call_id)
        if run is None:  # a former process recorded its intent
            run = self._start(turn, call_id, data, at - data["duration_ms"])
        run.status, run.duration_ms = data["status"], data["duration_ms"]
        run.error = TOOL_ERRORS.get(data["status"])
        run.steps = steps_of(data, run.started_at, at)
        run.suggested = [each["type"] for each in data.get("memory_writes", ())]
        turn.tool_calls += 1
        for reader in self._readers:
            reader.on_steps(turn, run)
        self._close(turn, run, at)

    def _close(self, turn: TurnFacts, run: ToolRun, at: int) -> None:
        if run.approval is not None and run.waits:
            self._end_approval(turn, run, run.approval, at)
        del turn.tools[run.call_id]
        run.ended_at, run.last_seq = at, turn.last_seq
        for reader in self._readers:
            reader.tool_ended(turn, run)
