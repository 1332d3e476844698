"""Where a reader of a session stands, over as many connections as it takes; pure but for the clock."""

import random
import time
from urllib.parse import quote

from ..errors import GatewayError
from .frames import Frame
from .request_failures import Unreachable

PATIENCE = 60.0
"""Seconds for which a server may be away, or say nothing new between two connections."""
FIRST_WAIT, MAX_WAIT = 0.2, 5.0


class Following:
    """Takes the frames of each connection and says what is new, and how long to wait before the next one."""

    def __init__(
        self, url: str, session_id: str, after: int, turn_id: str | None, patience: float | None
    ) -> None:
        self.after = after
        self.is_over = False
        self._url = url
        self._path = f"/api/sessions/{quote(session_id, safe='')}/events"
        self._turn_id = turn_id
        self._patience = patience
        self._progressed()

    @property
    def path(self) -> str:
        return self._path if self._turn_id is None else f"{self._path}?turn_id={self._turn_id}"

    @property
    def headers(self) -> dict[str, str]:
        return {"last-event-id": str(self.after)}

    def takes(self, frame: Frame) -> bool:
        """Whether it is an event that was not there before. With that of the turn's `done` it is over."""
        if frame.seq is None or frame.seq <= self.after:
            return False
        self.after = frame.seq
        self._progressed()
        self.is_over = self._turn_id is not None and frame.event == "done"
        return True

    def wait(self, error: GatewayError | None) -> float:
        """Seconds until the next connection, after one that ended, by `error` if it did not end by itself.

        Raises:
            GatewayError: that error, where it is final or there is no patience any more.
        """
        is_late = self._patience is not None and time.monotonic() > self._progressed_at + self._patience
        if error is not None and (is_late or not error.retryable):
            raise error
        if is_late:
            raise Unreachable(f"{self._url} ends every stream before the turn is done.")
        wait, self._wait = self._wait, min(self._wait * 2, MAX_WAIT)
        return wait * random.uniform(0.5, 1.5)  # noqa: S311 - so that not all come back at once

    def _progressed(self) -> None:
        self._progressed_at, self._wait = time.monotonic(), FIRST_WAIT
