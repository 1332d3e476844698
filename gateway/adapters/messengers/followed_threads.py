"""The sessions that are delivered: followed are those in which something did last. In any other one something
may happen too, as a schedule's run: they are looked for among the sessions that were used last.
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from gateway.adapters.messengers.base import Messenger, MessengerRefused, Thread
from gateway.adapters.messengers.journal import Journal
from gateway.adapters.messengers.thread_delivery import FIRST_PAUSE, LAST_PAUSE, ThreadDelivery
from gateway.backlog import doubled
from gateway.client import AsyncGatewayClient
from gateway.errors import GatewayError

MAX_FOLLOWED = 200
"""Threads whose sessions are followed while nothing happens in them."""
LOOK_EVERY = 10.0
"""Seconds between two looks for sessions that are not followed."""
MAX_ASKED = 20
"""Accounts whose sessions one look asks for; the next look goes on with others."""
MAX_LISTED = 100
"""Sessions of an account, the last used first, that a look asks for."""

log = structlog.get_logger(__name__)


class FollowedThreads:
    """Each by its session: one place may have had several. `client` is the gateway as a person has it; `fail`
    is told why nothing can be delivered any more."""

    def __init__(
        self,
        messenger: Messenger,
        journal: Journal,
        client: Callable[[str], Awaitable[AsyncGatewayClient]],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._messenger = messenger
        self._journal = journal
        self._client = client
        self._fail = fail
        self._following: dict[str, tuple[ThreadDelivery, asyncio.Task[None]]] = {}
        self._asked = ""

    async def follow(self, thread: Thread) -> None:
        """Delivers what comes in that session. Raises GatewayError: the person is nobody at the gateway."""
        known = self._following.pop(thread.session_id, None)
        if known is None:
            client = await self._client(thread.person)
            delivery = ThreadDelivery(thread, client, self._messenger, self._journal)
            known = delivery, asyncio.create_task(self._deliver(thread.session_id, delivery))
        self._following[thread.session_id] = known
        self._leave_idle()

    def leave(self, session_id: str) -> None:
        """Follows that session no more."""
        if (known := self._following.pop(session_id, None)) is not None:
            known[1].cancel()

    async def look(self) -> None:
        """Follows what others do not know of, until it is cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if self._journal.sessions() <= len(self._following):
                continue
            asked: set[AsyncGatewayClient] = set()
            for person in [*self._journal.persons(self._asked), ""]:
                if len(asked) == MAX_ASKED:
                    break
                self._asked = person
                try:
                    if person and (client := await self._client(person)) not in asked:
                        asked.add(client)
                        await self._look_at(client)
                except GatewayError as error:
                    log.warning("sessions_not_looked_at", code=error.code, error=error.message)

    async def close(self) -> None:
        """Follows none any more."""
        tasks = [each[1] for each in self._following.values()]
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _look_at(self, client: AsyncGatewayClient) -> None:
        for each in (await client.sessions(limit=MAX_LISTED))["sessions"]:
            thread = self._journal.thread_of(each["id"])
            if thread is None or each["id"] in self._following:
                continue
            if each["head"] > self._journal.cursor(thread):
                await self.follow(thread)

    async def _deliver(self, session_id: str, delivery: ThreadDelivery) -> None:
        """Until it is cancelled. A failure of one thread is not one of others."""
        failures = 0
        while True:
            try:
                await delivery.run()
            except MessengerRefused as error:
                self._fail(error)
                return
            except GatewayError as error:
                log.warning("delivery_failed", code=error.code, error=error.message)
                if error.code == "cursor_ahead":
                    await delivery.go_back()
                elif not error.retryable:
                    self._following.pop(session_id, None)
                    return
            except Exception:  # a bug in one thread is not to end the others
                log.exception("delivery_failed")
            failures += 1
            await asyncio.sleep(doubled(FIRST_PAUSE, failures, LAST_PAUSE))

    def _leave_idle(self) -> None:
        over = len(self._following) - MAX_FOLLOWED
        idle = [session for session, each in self._following.items() if each[0].turn is None]
        for session in idle[: max(over, 0)]:
            self._following.pop(session)[1].cancel()
