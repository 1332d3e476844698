"""Places for requests that hold a connection, of one user and from one address: streams of events, long
polls, answers that come with the end of a turn."""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.auth import Principal
from gateway.auth.client_addresses import Client
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
        self._most_from = settings.max_streams_per_address or max(FEWEST, alone)
        self._has_accounts = settings.has_accounts
        self._taken = Counter[str]()
        self._taken_from = Counter[str]()

    @contextmanager
    def place(self, who: Principal, client: Client) -> Generator[None]:
        """A place of that user until the context is left, and one of the address, where it is the client's
        own and people have accounts. Raises QueueFull (too_many_streams)."""
        if self._taken[who.user_id] >= self._most:
            raise QueueFull(
                f"You have {self._most} streams open, and may have no more (GATEWAY_MAX_STREAMS_PER_USER): "
                "close one.",
                code="too_many_streams",
            )
        address = client.address if client.is_own and self._has_accounts else None
        if address is not None and self._taken_from[address] >= self._most_from:
            raise QueueFull(
                f"{self._most_from} streams are open from your address, which may have no more "
                "(GATEWAY_MAX_STREAMS_PER_ADDRESS).",
                code="too_many_streams",
            )
        taken = [(self._taken, who.user_id), *([(self._taken_from, address)] if address is not None else [])]
        for counter, name in taken:
            counter[name] += 1
        try:
            yield
        finally:
            for counter, name in taken:
                counter[name] -= 1
                if not counter[name]:
                    del counter[name]


class InPlace:
    """Around an endpoint that may answer with a stream: it is not asked where its user has no place left, so
    that nothing is begun whose answer is a refusal."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        places: StreamPlaces = scope["app"].state.stream_places
        with places.place(scope["principal"], scope["came_from"]):
            await self._app(scope, receive, send)
