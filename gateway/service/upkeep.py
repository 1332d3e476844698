"""What is done beside the turns: summaries of idle sessions, archives of old ones, artifacts whose time is
over."""

import asyncio
from collections import OrderedDict

import structlog

from gateway.errors import GatewayError
from gateway.ids import now_ms
from gateway.service.archiving import Archiver, summarise
from gateway.service.parts import Parts

ROUND = 30.0
"""Seconds between two looks; sessions become due later than set by at most so much."""
AT_ONCE = 20
"""Sessions of one kind per look: upkeep never has a long list."""

PATIENCE_MS = 3_600_000
"""Until a session is tried again with which something failed."""
MOST_FAILED = 500

log = structlog.get_logger(__name__)


class Upkeep:
    """Looks for sessions that are due, one at a time, for as long as the process lives. It `began` before the
    first turn of it ran, in Unix milliseconds; 0 where nobody knows."""

    def __init__(self, parts: Parts, archiver: Archiver, *, began: int = 0) -> None:
        self._parts = parts
        self._archiver = archiver
        self._began = began
        self._not_summarised, self._not_archived = Failed(), Failed()

    @property
    def _summarises(self) -> bool:
        settings = self._parts.settings
        return settings.session_summaries and settings.summary_after is not None

    async def run(self, every: float = ROUND) -> None:
        """Runs until it is cancelled."""
        while True:
            try:
                await self.look()
            except GatewayError as error:  # the database, for now
                log.warning("upkeep_failed", code=error.code, error=error.message)
            except Exception:
                # A mistake of ours with one session must not end the care for all others.
                log.exception("upkeep_failed")
            await asyncio.sleep(every)

    async def look(self) -> None:
        """One look: summarises, archives and removes what is due now."""
        settings, now = self._parts.settings, now_ms()
        await self._parts.shelf.sweep(now, began=self._began)
        if self._summarises and settings.summary_after is not None:
            await self._summarise_idle(now - int(settings.summary_after * 1000))
        if settings.archive_after is not None:
            await self._archive_old(now - int(settings.archive_after * 1000))

    async def _summarise_idle(self, idle_before: int) -> None:
        failed = self._not_summarised
        failed.forgive()
        due = await self._parts.summaries.due(idle_before=idle_before, limit=AT_ONCE + len(failed))
        for session_id, owner, _ in due:
            if session_id in failed:
                continue
            try:
                session = await self._parts.sessions.get(session_id, owner)
                await summarise(self._parts, session, "idle")
            except GatewayError as error:
                failed.add(session_id)
                log.warning("summary_failed", session_id=session_id, code=error.code, error=error.message)
                return  # the others may fail for the same reason, and each attempt is paid for
            log.info("session_summarised", session_id=session_id)
            self._archiver.ended(session)

    async def _archive_old(self, idle_before: int) -> None:
        failed = self._not_archived
        failed.forgive()
        due = await self._parts.archives.due(idle_before=idle_before, limit=AT_ONCE + len(failed))
        for session_id, owner in due:
            if session_id in failed:
                continue
            try:
                await self._archiver.archive(await self._parts.sessions.get(session_id, owner))
            except GatewayError as error:
                failed.add(session_id)
                log.warning("archive_failed", session_id=session_id, code=error.code, error=error.message)


class Failed:
    """Sessions with which something failed: they are left alone for a while, so that the others get their
    turn and no endpoint is paid for in a circle."""

    def __init__(self) -> None:
        self._since: OrderedDict[str, int] = OrderedDict()

    def add(self, session_id: str) -> None:
        self._since[session_id] = now_ms()

    def forgive(self) -> None:
        """Lets those be tried again that failed PATIENCE_MS ago, and the oldest when there are too many."""
        before = now_ms() - PATIENCE_MS
        while self._since and (len(self._since) > MOST_FAILED or next(iter(self._since.values())) < before):
            self._since.popitem(last=False)

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._since

    def __len__(self) -> int:
        return len(self._since)
