"""What is done for sessions that nobody uses at the moment: summaries of idle ones, archives of old ones."""

import asyncio
from collections import OrderedDict

import structlog

from gateway.errors import GatewayError
from gateway.ids import now_ms
from gateway.service.archiving import Archiver
from gateway.turn.parts import Parts

ROUND = 30.0
"""Seconds between two looks; sessions become due later than set by at most so much."""
AT_ONCE = 20
"""Sessions of one kind per look: upkeep never has a long list."""

PATIENCE_MS = 3_600_000
"""Until a session whose summary failed is tried again."""
MOST_FAILED = 500

log = structlog.get_logger(__name__)


class Upkeep:
    """Looks for sessions that are due, one at a time, for as long as the process lives."""

    def __init__(self, parts: Parts, archiver: Archiver) -> None:
        self._parts = parts
        self._archiver = archiver
        self._failed: OrderedDict[str, int] = OrderedDict()

    @property
    def has_work(self) -> bool:
        """Whether the settings ask for any."""
        return self._summarises or self._parts.settings.archive_after is not None

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
            await asyncio.sleep(every)

    async def look(self) -> None:
        """One look: summarises and archives what is due now."""
        settings, now = self._parts.settings, now_ms()
        if self._summarises and settings.summary_after is not None:
            await self._summarise_idle(now - int(settings.summary_after * 1000))
        if settings.archive_after is not None:
            await self._archive_old(now - int(settings.archive_after * 1000))

    async def _summarise_idle(self, idle_before: int) -> None:
        self._forgive(now_ms() - PATIENCE_MS)
        due = await self._parts.summaries.due(idle_before=idle_before, limit=AT_ONCE + len(self._failed))
        for session_id, owner, project_id in due:
            if session_id in self._failed:
                continue
            try:
                await self._parts.compressor.summarise_session(
                    session_id, owner=owner, project_id=project_id, trigger="idle", at=now_ms()
                )
            except GatewayError as error:
                # The others may fail for the same reason: an endpoint must not be paid for in a circle.
                self._failed[session_id] = now_ms()
                log.warning("summary_failed", session_id=session_id, code=error.code, error=error.message)
                return
            log.info("session_summarised", session_id=session_id)

    def _forgive(self, before: int) -> None:
        """Lets those be tried again that failed before that time, and the oldest when there are too many."""
        while self._failed and (
            len(self._failed) >= MOST_FAILED or next(iter(self._failed.values())) < before
        ):
            self._failed.popitem(last=False)

    async def _archive_old(self, idle_before: int) -> None:
        for session_id, owner in await self._parts.archives.due(idle_before=idle_before, limit=AT_ONCE):
            try:
                await self._archiver.archive(await self._parts.sessions.get(session_id, owner))
            except GatewayError as error:
                log.warning("archive_failed", session_id=session_id, code=error.code, error=error.message)
