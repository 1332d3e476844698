"""Turns as streams of AG-UI: each event a frame of server-sent events. Pure."""

from collections.abc import Sequence

import orjson

from gateway.adapters.ag_ui.ag_ui_events import MESSAGES, Run, RunEvents, failed
from gateway.adapters.ag_ui.ag_ui_messages import Event
from gateway.adapters.parts import Grew, Opened, Part, Waiting
from gateway.errors import GatewayError


class RunStream:
    """Encodes turns as server-sent events for clients of AG-UI."""

    def __init__(self, run: Run) -> None:
        self._events = RunEvents(run)
        self._delta = b""

    def encode(self, parts: Sequence[Part]) -> bytes:
        frames: list[bytes] = []
        for part in parts:
            if type(part) is Grew:
                self._events.texts.append(part.text)
                frames.append(self._delta % part.text)
                continue
            if type(part) is Opened:
                kind, name = MESSAGES[part.span.kind], part.span.id
                self._delta = b'data: {"type":"%b_CONTENT","messageId":"%b","delta":%%b}\n\n' % (
                    kind.encode(),
                    name.encode(),
                )
            frames += map(_frame, self._events.of(part))
        return b"".join(frames)

    def pause(self, waits_for: Sequence[Waiting]) -> bytes:
        return b"".join(map(_frame, self._events.paused(waits_for)))

    def trouble(self, error: GatewayError) -> bytes:
        return failed_frame(error)


def failed_frame(error: GatewayError) -> bytes:
    return _frame(failed(error.code, error.message))


def _frame(event: Event) -> bytes:
    return b"data: %b\n\n" % orjson.dumps(event)
