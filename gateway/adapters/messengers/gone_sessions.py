"""What the gateway has no more is forgotten here too: threads whose sessions were deleted, or erased with
their person, and keys that hold no longer. The gateway knows nothing of the journal, so it is asked."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from gateway.adapters.messengers.base import Thread
from gateway.adapters.messengers.journal import Journal
from gateway.client import AsyncGatewayClient
from gateway.errors import GatewayError, NotAuthenticated, RequestRefused

ASK_EVERY = 10.0
"""Seconds between two looks: in a day at some 17,000 threads."""
ASKED = 2
"""Threads that one look asks for, and linked keys."""
NOT_FOUND = frozenset({"not_found", "session_not_found"})

log = structlog.get_logger(__name__)


class GoneSessions:
    """`client` is the gateway as a person has it; `leave` ends the following of a session."""

    def __init__(
        self,
        journal: Journal,
        client: Callable[[str], Awaitable[AsyncGatewayClient]],
        leave: Callable[[str], None],
    ) -> None:
        self._journal = journal
        self._client = client
        self._leave = leave
        self._session = self._person = ""

    async def look(self) -> None:
        """Asks for one after the other, round and round, until it is cancelled."""
        while True:
            await asyncio.sleep(ASK_EVERY)
            threads = self._journal.threads(self._session, ASKED)
            persons = self._journal.linked_persons(self._person, ASKED)
            self._session = threads[-1].session_id if threads else ""
            self._person = persons[-1] if persons else ""
            try:
                for person in persons:
                    await self._ask_with_key(person)
                for thread in threads:
                    await self._ask_for(thread)
            except GatewayError as error:
                log.warning("gone_sessions_not_asked", code=error.code, error=error.message)

    async def _ask_with_key(self, person: str) -> None:
        """A key that is revoked, or erased with its user, is one no more."""
        try:
            await (await self._client(person)).ask("GET", "/api/me")
        except RequestRefused as error:
            if error.code == NotAuthenticated.code:
                self._journal.link(person, None)
                log.info("link_forgotten", person=person)

    async def _ask_for(self, thread: Thread) -> None:
        try:
            await (await self._client(thread.person)).session(thread.session_id)
        except RequestRefused as error:
            if error.code in NOT_FOUND:
                self._leave(thread.session_id)
                self._journal.forget(thread)
                log.info("thread_forgotten", session_id=thread.session_id)
