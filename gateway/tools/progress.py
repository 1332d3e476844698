"""The progress of a long tool, with a bounded rate of events."""

import asyncio
import math
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

from gateway.errors import GatewayError
from gateway.events.tool_calls import ToolProgress
from gateway.messages import clean_text

INTERVAL = 0.1
"""Seconds between two events of one call, at least. Of reports in between only the last is emitted."""
MESSAGE_LENGTH = 500


class Progress:
    """`progress("3 of 10 pages", 0.3)`, from the function itself or from any thread: it never waits, and
    drops what cannot be sent. The share done is 0 to 1; both may be left out."""

    def __init__(self, emit: Callable[[ToolProgress], None], interval: float = INTERVAL) -> None:
        self._emit = emit
        self._interval = interval
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._latest: ToolProgress | None = None
        self._emitted_at = -math.inf
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, message: str | None = None, share: float | None = None) -> None:
        if message is not None:
            message = clean_text(message[:MESSAGE_LENGTH])
        if share is not None:
            share = min(max(share, 0.0), 1.0) if math.isfinite(share) else None
        progress = ToolProgress(message=message, progress=share)
        with self._lock:
            is_expected, self._latest = self._latest is not None, progress
        if not is_expected:
            self._loop.call_soon_threadsafe(self._emit_when_due)

    def close(self) -> None:
        """Emits the latest report, unless it was emitted. To be called in the event loop."""
        if self._timer is not None:
            self._timer.cancel()
        self._emit_latest()

    def _emit_when_due(self) -> None:
        wait = self._emitted_at + self._interval - monotonic()
        if wait > 0:
            self._timer = self._loop.call_later(wait, self._emit_latest)
        else:
            self._emit_latest()

    def _emit_latest(self) -> None:
        with self._lock:
            latest, self._latest = self._latest, None
        if latest is not None:
            self._emitted_at = monotonic()
            with suppress(GatewayError):  # the call is over, or the turn: its owner learns that otherwise
                self._emit(latest)
