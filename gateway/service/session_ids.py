"""The ids of new sessions. They are one name space for all users: the refusal of one that a client chooses
tells that somebody has it, so that whoever tries many is stopped. Those that the gateway gives cannot be
guessed."""

import hmac
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import structlog

from gateway.auth.failed_attempts import FailedAttempts
from gateway.errors import NotFound, SessionIdTaken
from gateway.ids import new_session_id
from gateway.storage.sessions import SessionDirectory

log = structlog.get_logger(__name__)


class SessionIds:
    """Those of one installation. Refusals are counted for each user, by each process."""

    def __init__(self, sessions: SessionDirectory, key: bytes) -> None:
        """`key` is the installation's secret."""
        self._sessions = sessions
        self._key = key
        self._attempts = FailedAttempts("ids of sessions that cannot be had")

    def for_message(self, owner: str, client_message_id: str | None) -> str:
        """The id of the session that a message makes which names none. With a client_message_id always the
        same one: a client that repeats a request whose answer it never saw cannot know the session that the
        first one made. Nobody else can say which it will be, and take it before."""
        if client_message_id is None:
            return new_session_id()
        named = hmac.digest(self._key, f"{owner}\0{client_message_id}".encode(), "sha256")
        return f"s_{named.hex()[:32]}"

    @asynccontextmanager
    async def trying(self, owner: str, chosen: str | None) -> AsyncGenerator[None]:
        """While a session is made of the id that its owner has `chosen` (None: they leave that to us; "": it
        is in a file). What is their own they may name as often as they like.

        Raises:
            errors.LockedOut: they tried too many that others have.
        """
        if chosen is not None and self._attempts.has_failed(owner) and not await self._is_own(owner, chosen):
            self._attempts.check([owner])
        try:
            yield
        except SessionIdTaken as taken:
            if not await self._is_own(owner, taken.session_id) and self._attempts.failed([owner]):
                log.warning("locked_out", user_id=owner, tried="session ids")
            raise

    async def _is_own(self, owner: str, session_id: str) -> bool:
        with suppress(NotFound):
            await self._sessions.get(session_id, owner)
            return True
        return False
