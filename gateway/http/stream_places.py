"""Places for requests of one user that hold a connection: streams of events, long polls, answers that come
with the end of a turn."""

from collections import Counter

from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.auth import Principal
from gateway.errors import QueueFull
from gateway.settings import Settings

MAX_STREAMS = 100
"""Of one user, where people have accounts; at most …"""
SHARE = 10
"""… this part of all connections."""
FEWEST = 4
"""What a page needs: the events of a session, a turn that it sends, and the same in another tab."""


class StreamPlaces:
    """Counts them, in one process."""

    def __init__(self, settings: Settings) -> None:
        """A local user, who is alone with the gateway, has half of all connections."""
        share = min(MAX_STREAMS, settings.max_connections // SHARE)
        alone = settings.max_connections // 2
        default = max(FEWEST, share if settings.has_accounts else alone)
        self._most = settings.max_streams_per_user or default
        self._taken = Counter[str]()

    def take(self, who: Principal) -> None:
        """Raises QueueFull (too_many_streams)."""
        if self._taken[who.user_id] >= self._most:
            raise QueueFull(
                f"You have {self._most} streams open, and may have no more (GATEWAY_MAX_STREAMS_PER_USER): "
                "close one.",
                code="too_many_streams",
            )
        self._taken[who.user_id] += 1

    def give_back(self, who: Principal) -> None:
        """Whoever took a place."""
        self._taken[who.user_id] -= 1
        if not self._taken[who.user_id]:
            del self._taken[who.user_id]


class InPlace:
    """Around an endpoint that may answer with a stream: it is not asked where its user has no place left, so
    that nothing is begun whose answer is a refusal."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        places: StreamPlaces = scope["app"].state.stream_places
        who: Principal = scope["principal"]
        places.take(who)
        try:
            await self._app(scope, receive, send)
        finally:
            places.give_back(who)
