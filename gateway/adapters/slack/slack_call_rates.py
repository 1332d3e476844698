"""How often Slack's methods may be called: https://docs.slack.dev/apis/web-api/rate-limits (November 2026).

In each minute a method may be called as often as its tier says. What is urgent, as the end of an answer, may
use all of that; what is not, as a piece of one, comes evenly and leaves a part. Each that waits is served in
its order, what is urgent by then before, and draws what it says when its time has come.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from time import monotonic

MINUTE = 60.0
PER_MINUTE: Mapping[str, int] = {
    "chat.appendStream": 100,
    "chat.delete": 50,
    "chat.postEphemeral": 100,
    "chat.postMessage": 300,  # "several hundred messages per minute" of a workspace
    "chat.startStream": 20,
    "chat.stopStream": 20,
    "chat.update": 50,
    "conversations.history": 50,
    "conversations.replies": 50,
    "files.completeUploadExternal": 100,
    "files.getUploadURLExternal": 100,
    "users.info": 100,
    "views.open": 100,
}
OTHERS = 20
"""Calls a minute of a method that is not in the table."""
OF_A_CHANNEL = frozenset({"chat.postMessage"})
"""Methods that may be called once a second in a channel."""
SHARE = 0.7
"""What calls that are not urgent may use of a method's limit."""
CROWD = 10
"""So many that wait halve what calls that are not urgent may use: each of their threads is to have an end."""
MARGIN, SPACE = 1.05, 1.2
"""By which a minute, and the second between two messages in a channel, are longer here: calls are not as far
apart when they arrive as when they were sent."""
LOOK = 0.25
"""Seconds after which it is looked whether what waits has become urgent."""
Urgent = Callable[[], bool]


def ALWAYS() -> bool:  # noqa: N802 - a constant
    """Of what somebody waits for."""
    return True


class SlackLimits:
    """Those of one app in one workspace. `rate` is how many times the published limits Slack has granted."""

    def __init__(self, rate: float = 1.0) -> None:
        self._minute = MINUTE / rate * MARGIN
        self._lines: dict[str, _Line] = {}

    async def take(self, method: str, channel: str, urgent: Urgent) -> None:
        """Returns when the method may be called. What is not urgent may become so while it waits."""
        if method in OF_A_CHANNEL:
            await self._line(f"{method} {channel}", 1, self._minute / MINUTE * SPACE).take(ALWAYS)
        await self._of(method).take(urgent)

    def is_free(self, method: str) -> bool:
        """Whether an urgent call would not have to wait."""
        return self._of(method).wait(urgent=True) <= 0

    def rest(self, method: str, seconds: float) -> None:
        """Slack wants no call of the method for so long."""
        self._of(method).rest(seconds)

    def _of(self, method: str) -> "_Line":
        return self._line(method, PER_MINUTE.get(method, OTHERS), self._minute)

    def _line(self, name: str, calls: int, seconds: float) -> "_Line":
        if name not in self._lines:
            self._lines[name] = _Line(calls, seconds)
        return self._lines[name]


class _Line:
    """At most `calls` in any stretch of that many seconds."""

    def __init__(self, calls: int, seconds: float) -> None:
        self._calls, self._seconds = calls, seconds
        self._space = seconds / calls / SHARE
        self._made = deque[float](maxlen=calls)
        self._rests_until = 0.0
        self._waiting: list[tuple[Urgent, asyncio.Future[None]]] = []
        self._timer: asyncio.TimerHandle | None = None

    def wait(self, *, urgent: bool) -> float:
        """Seconds until the next call."""
        now = monotonic()
        due = self._rests_until
        if len(self._made) == self._calls:
            due = max(due, self._made[0] + self._seconds)
        if not urgent and len(self._made) > self._calls * (1 - SHARE):
            due = max(due, self._made[-1] + self._space * (1 + len(self._waiting) / CROWD))
        return due - now

    async def take(self, urgent: Urgent) -> None:
        ready = asyncio.get_running_loop().create_future()
        self._waiting.append((urgent, ready))
        self._serve()
        await ready

    def rest(self, seconds: float) -> None:
        self._rests_until = max(self._rests_until, monotonic() + seconds)

    def _serve(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._waiting = [each for each in self._waiting if not each[1].done()]  # else it was cancelled
        while self._waiting:
            at = next((at for at, (urgent, _) in enumerate(self._waiting) if urgent()), 0)
            urgent, ready = self._waiting[at]
            if (wait := self.wait(urgent=urgent())) > 0:
                self._timer = asyncio.get_running_loop().call_later(min(wait, LOOK), self._serve)
                return
            del self._waiting[at]
            self._made.append(monotonic())
            ready.set_result(None)
