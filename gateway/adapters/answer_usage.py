"""The usage that one answer reports: a turn that waited has several answers. Pure."""

from gateway.adapters.turn_parts import Data, ModelAnswered, Part, TurnBegan, TurnEnded


class AnswerUsage:
    def __init__(self) -> None:
        self._has_waited = False
        self._used: list[Data] = []

    def count(self, part: Part) -> None:
        if isinstance(part, TurnBegan):
            self._used.clear()  # what was used before the turn waited is known
        elif isinstance(part, ModelAnswered) and "usage" in part.data:
            self._used.append(part.data["usage"])

    def waits(self) -> None:
        """The turn waits here, or did where the answer begins."""
        self._has_waited = True

    def of(self, ended: TurnEnded | None) -> list[Data]:
        """Of the whole turn, or of what came since it waited, as the events have it."""
        if ended is not None and not self._has_waited and "usage" in ended.data:
            return [ended.data["usage"]]
        return self._used
