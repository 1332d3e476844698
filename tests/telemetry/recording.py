"""A reader that writes down what it is told."""

from gateway.telemetry.tool_facts import ApprovalState, ToolRun
from gateway.telemetry.turn_facts import Call, TelemetryReader, TurnFacts


class Record(TelemetryReader):
    """What was told in words, the model calls, and the turns that ended."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.calls: list[Call] = []
        self.ended: list[TurnFacts] = []

    def turn_started(self, turn: TurnFacts) -> None:
        self.lines.append(f"{turn.id} started")

    def call_ended(self, turn: TurnFacts, call: Call) -> None:
        self.lines.append(f"call {call.iteration} ended")
        self.calls.append(call)

    def approval_asked(self, turn: TurnFacts, run: ToolRun, approval: ApprovalState) -> None:
        self.lines.append(f"{run.name} asked")

    def approval_ended(self, turn: TurnFacts, run: ToolRun, approval: ApprovalState) -> None:
        self.lines.append(f"{run.name} {approval.decision} by {approval.kind}")

    def tool_ended(self, turn: TurnFacts, run: ToolRun) -> None:
        self.lines.append(f"{run.name} {run.status}")

    def turn_ended(self, turn: TurnFacts) -> None:
        self.lines.append(f"{turn.id} {turn.outcome}")
        self.ended.append(turn)

    def turn_lost(self, turn: TurnFacts) -> None:
        self.lines.append(f"{turn.id} lost")

    def turn_left(self, turn: TurnFacts) -> None:
        self.lines.append(f"{turn.id} left")
