"""Users whom a process refuses, as everything of them is being erased."""

import asyncio
from contextlib import suppress

import structlog

from gateway.auth import Principal
from gateway.errors import Conflict, StorageError
from gateway.pace import until_next
from gateway.storage.persons import PersonErasures
from gateway.storage.replica_signals import Signals

LOOK_EVERY = 2.0
"""Seconds after which each process knows whom it has to refuse, and a new erasure begins at the latest."""
ALLOWED_PATHS = frozenset({"/api/me/erasure"})
"""What somebody may ask for who is being erased."""

log = structlog.get_logger(__name__)


class BeingErased:
    """Whom this process refuses, as their erasure is not done."""

    def __init__(self, erasures: PersonErasures, signals: Signals) -> None:
        self._erasures = erasures
        self._wanted = asyncio.Event()
        self.users: frozenset[str] = frozenset()
        self._added: frozenset[str] = frozenset()
        self.changed = asyncio.Event()
        signals.on("revoked", lambda _: self._wanted.set())

    async def look(self) -> None:
        """Raises errors.StorageError."""
        self._added = frozenset()
        found = await self._erasures.unfinished()
        known = self.users
        self.users = self._added | {each.person for each in found}  # what came meanwhile may not be in it
        if self.users - known:
            self.changed.set()

    def add(self, user_id: str) -> None:
        """At once in this process."""
        self._added |= {user_id}
        self.users |= {user_id}
        self.changed.set()

    def check(self, who: Principal, path: str) -> None:
        """Raises errors.Conflict (being_erased)."""
        if who.user_id in self.users and path not in ALLOWED_PATHS:
            raise Conflict(
                "Everything of this user is being erased: ask again when that is done (GET /api/me/erasure).",
                code="being_erased",
                retryable=True,
            )

    async def run(self) -> None:
        """Looks again and again, and when somebody has lost access, until it is cancelled."""
        while True:
            self._wanted.clear()
            try:
                await self.look()
            except StorageError as error:
                log.warning("erasures_unknown", code=error.code, error=str(error))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), until_next(LOOK_EVERY))
