"""A reader that writes down what it is told."""

from gateway.telemetry.base import Call, Reader, Turn
from gateway.telemetry.tool_runs import Approval, ToolRun


class Record(Reader):
    """What was told in words, the model calls, and the turns that ended."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.calls: list[Call] = []
        self.ended: list[Turn] = []

    def turn_started(self, turn: Turn) -> None:
        self.told.append(f"{turn.id} started")

    def call_ended(self, turn: Turn, call: Call) -> None:
        self.told.append(f"call {call.iteration} ended")
        self.calls.append(call)

    def approval_asked(self, turn: Turn, run: ToolRun, approval: Approval) -> None:
        self.told.append(f"{run.name} asked")

    def approval_ended(self, turn: Turn, run: ToolRun, approval: Approval) -> None:
        self.told.append(f"{run.name} {approval.decision} by {approval.kind}")

    def tool_ended(self, turn: Turn, run: ToolRun) -> None:
        self.told.append(f"{run.name} {run.status}")

    def turn_ended(self, turn: Turn) -> None:
        self.told.append(f"{turn.id} {turn.outcome}")
        self.ended.append(turn)

    def turn_lost(self, turn: Turn) -> None:
        self.told.append(f"{turn.id} lost")

    def turn_left(self, turn: Turn) -> None:
        self.told.append(f"{turn.id} left")
