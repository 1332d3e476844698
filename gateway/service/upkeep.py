"""What is done beside the turns: summaries of idle sessions, archives of old ones, artifacts whose time is
over."""

import asyncio
from time import monotonic

import structlog

from gateway.artifacts.store_events import Swept
from gateway.backlog import Failures
from gateway.errors import GatewayError, LimitReached
from gateway.ids import now_ms
from gateway.service.archiver import Archiver, summarise
from gateway.service.dependencies import Dependencies
from gateway.service.legal_holds import tell_memory
from gateway.service.retention import RetentionSweep
from gateway.storage.memories import RESTORABLE_FOR
from gateway.storage.turns import OwnedTurn

ROUND = 30.0
"""Seconds between two looks; sessions become due later than set by at most so much."""
BATCH = 20
"""Sessions of one kind that one look takes, and erasures that are read at a time."""

SWEEP_EVERY = 7_200.0
"""Seconds between two looks through the blob store for parts of blobs, and for deleted memories, the first of
them at the start."""
REMOVED = 50
"""Deleted memories that one transaction removes."""
PART_AGE_MS = 3_600_000
"""Milliseconds since the last write after which a part counts as abandoned."""

RETENTION_PAUSE = 20
"""Times that a look through all sessions took, until the next one."""

FIRST_RETRY, LAST_RETRY = 300.0, 21_600.0
"""Seconds until a session is tried again with which something failed: doubled each time, up to the last."""
MAX_FAILED = 500

log = structlog.get_logger(__name__)


class Upkeep:
    """Looks for sessions that are due, one at a time, for as long as the process lives."""

    def __init__(
        self, deps: Dependencies, archiver: Archiver, retention: RetentionSweep | None = None
    ) -> None:
        self._deps = deps
        self._archiver = archiver
        self._retention = retention or RetentionSweep(deps, archiver)
        self._next_retention = 0.0
        self._not_summarised = Failures[str](FIRST_RETRY, LAST_RETRY, MAX_FAILED)
        self._ran_at_erasure: dict[tuple[str, str], frozenset[OwnedTurn]] = {}
        self._next_sweep = 0.0
        self._next_removal = 0.0

    @property
    def _summarises(self) -> bool:
        settings = self._deps.settings
        return settings.session_summaries and settings.summary_after is not None

    async def run(self, every: float = ROUND) -> None:
        """Runs until it is cancelled. Raises what `look` does."""
        while True:
            await self.look()
            await asyncio.sleep(every)

    async def look(self) -> None:
        """One look: summarises, archives and removes what is due now. Each step is done also after another
        failed. A failure that was not foreseen, and lies in no session, is raised when they are done."""
        failed: Exception | None = None
        for step in (
            self._sweep,
            self._sweep_parts,
            self._settle_erasures,
            self._count_sessions,
            self._remove_deleted_memories,
            self._summarise_idle,
            self._tell_memory_of_holds,
            self._apply_retention,
        ):
            try:
                await step()
            except GatewayError as error:  # the database, for now
                log.warning("upkeep_failed", code=error.code, error=str(error))
            except Exception as error:  # raised when the other steps are done
                if failed is not None:
                    log.error("upkeep_failed", exc_info=failed)
                failed = error
        if failed is not None:
            raise failed

    async def _count_sessions(self) -> None:
        """Counts the bytes of sessions that a version made which did not."""
        for session_id in await self._deps.sessions.unsized(BATCH):
            await self._deps.sessions.count(session_id)

    async def _sweep(self) -> None:
        await self._deps.artifact_store.sweep(now_ms())

    async def _sweep_parts(self) -> None:
        """Removes what processes that were killed have written of blobs."""
        if monotonic() < self._next_sweep:
            return
        self._next_sweep = monotonic() + SWEEP_EVERY
        removed = await self._deps.blobs.sweep(now_ms() - PART_AGE_MS)
        self._deps.artifact_store.on_event(Swept(expired=0, removed=0, parts=removed))
        if removed:
            log.info("parts_of_blobs_removed", removed=removed)

    async def _settle_erasures(self) -> None:
        """Takes the words of erased memories out of the sessions. A turn that ran when an erasure was first
        seen may have read the memory before it, and write the words later: the erasure is settled when no
        such turn runs any more. Raises the last failure when all were tried."""
        if self._deps.memory is None:
            return
        store, after = self._deps.memory.store, ("", "")
        failed: Exception | None = None
        while erased := await store.erasures(limit=BATCH, after=after):
            running = frozenset(await self._deps.turns.owned())  # before looking for what they wrote
            for memory_id, owner in erased:
                seen, key = self._ran_at_erasure, (memory_id, owner)
                ran = seen.get(key)
                if ran is not None and ran & running:
                    continue
                try:
                    await self._deps.sessions.forget_memory(owner, memory_id)
                    if ran is None and len(seen) < MAX_FAILED:  # others are settled when there are fewer
                        seen[key] = ran = running
                    if ran is not None and not ran & running:
                        await store.settle_erasure(memory_id, owner)
                        del seen[key]
                except Exception as error:  # noqa: BLE001 - raised when all were tried
                    failed = error
            after = erased[-1]
        if failed is not None:
            raise failed

    async def _remove_deleted_memories(self) -> None:
        """Removes what was deleted longer ago than it can be restored."""
        if self._deps.memory is None or monotonic() < self._next_removal:
            return
        self._next_removal = monotonic() + SWEEP_EVERY
        removed, before = 0, now_ms() - RESTORABLE_FOR
        while done := await self._deps.memory.store.remove_deleted(before, REMOVED):
            removed += done
        if removed:
            log.info("deleted_memories_removed", removed=removed)

    async def _summarise_idle(self) -> None:
        settings, failed = self._deps.settings, self._not_summarised
        if not self._summarises or settings.summary_after is None:
            return
        idle_before = now_ms() - int(settings.summary_after * 1000)
        due = await self._deps.summaries.due(idle_before=idle_before, limit=BATCH + len(failed))
        for session_id, owner, _ in due:
            if session_id in failed:
                continue
            try:
                session = await self._deps.sessions.get(session_id, owner)
                await summarise(self._deps, session, "idle")
                log.info("session_summarised", session_id=session_id)
                failed.forget(session_id)
                self._archiver.ended(session)
            except BaseException as error:  # noqa: BLE001 - every kind, see _log_failure
                failed.add(session_id)
                if isinstance(error, LimitReached):  # of this user's; others have theirs
                    log.info("summary_waits", session_id=session_id, code=error.code)
                    continue
                _log_failure("summary_failed", session_id, error)
                return  # the others may fail for the same reason, and each attempt is paid for

    async def _tell_memory_of_holds(self) -> None:
        """Also after a process was killed between the two databases."""
        await tell_memory(self._deps)

    async def _apply_retention(self) -> None:
        """All sessions are looked through: many of them so seldom that it takes a twentieth of the time."""
        if monotonic() < self._next_retention:
            return
        began = monotonic()
        if await self._retention.look():
            self._next_retention = monotonic() + RETENTION_PAUSE * (monotonic() - began)


def _log_failure(event: str, session_id: str, error: BaseException) -> None:
    """Logs any failure with a session: the others are looked after all the same. Raises a
    cancellation."""
    if isinstance(error, GatewayError):
        log.warning(event, session_id=session_id, code=error.code, error=str(error))
    elif isinstance(error, Exception):
        log.error(event, session_id=session_id, exc_info=error)
    else:
        raise error
