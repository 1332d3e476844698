"""A turn as the result of the tool `chat`."""

from collections.abc import Sequence

import orjson

from gateway.adapters.turn_parts import (
    ApprovalAsked,
    AttemptWithdrawn,
    CallAnswered,
    CallMade,
    CallProgressed,
    Grew,
    Opened,
    Part,
    TurnEnded,
    Waiting,
)
from gateway.errors import GatewayError
from gateway.thinking_in_text import without_thinking


class ChatAnswer:
    """Collects a turn for a result, without discarded attempts, and `progress`: what to tell meanwhile."""

    def __init__(self) -> None:
        self.progress: list[str] = []
        self.waits_for: Sequence[Waiting] = ()
        self.failure: tuple[str, str] | None = None
        self.status = ""
        self._texts: dict[str, list[str]] = {}

    @property
    def text(self) -> str:
        return "\n\n".join(filter(None, (without_thinking("".join(each)) for each in self._texts.values())))

    def encode(self, parts: Sequence[Part]) -> bytes:
        for part in parts:
            self._take(part)
        return b""

    def pause(self, waits_for: Sequence[Waiting]) -> bytes:
        """What came so far was the result of a former call, where this one continues it."""
        self.waits_for = waits_for
        self.progress.clear()
        if not waits_for:  # it ended meanwhile
            return b""
        asks = any(isinstance(each, ApprovalAsked) for each in waits_for)
        self.status = "awaiting_approval" if asks else "awaiting_result"
        return b""

    def trouble(self, error: GatewayError) -> bytes:  # pragma: no cover - the call itself fails
        raise error

    def _take(self, part: Part) -> None:
        match part:
            case Opened(span) if span.kind == "text":
                self._texts[span.id] = []
            case Grew(span, text) if span.kind == "text":
                piece: str = orjson.loads(text)
                self._texts[span.id].append(piece)
                self.progress.append(piece)
            case AttemptWithdrawn(_, spans):
                for span in spans:
                    self._texts.pop(span.id, None)
            case CallMade(call):
                self.progress.append(f"{call.name} …")
            case CallProgressed(call, data) if "message" in data:
                self.progress.append(f"{call.name}: {data['message']}")
            case CallAnswered(call, data):
                self.progress.append(f"{call.name}: {data['status']}")
            case TurnEnded(data):
                self.status, self.failure = data["status"], part.failure
            case _:
                pass
