"""Writes what is done into the audit, and reads it.

    rights change, an admin acts ──▶ stored before the answer leaves
    everything else ──▶ queue ──▶ stored together, a moment later
    the same refusal or failure again ──▶ counted ──▶ one entry at the end of its minute

A queue that is full holds up whoever comes until it is stored. What is in it when the process is killed is
lost to the database; the log lines (`audit`) have it.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from time import monotonic

import structlog

from gateway.auth import Principal
from gateway.bounded_dict import BoundedDict
from gateway.cancellation_shield import finish
from gateway.errors import StorageError
from gateway.ids import DAY_MS, now_ms
from gateway.settings import Settings
from gateway.storage.audit import AuditEntry, AuditFilter, AuditLog, StoredEntry

MAX_QUEUED = 10_000
"""Entries that wait for the database."""
GATHER = 0.2
"""Seconds for which entries gather, so that a busy gateway has no transaction for each."""
EXPORTED = 200
"""Entries of a piece of an export: some 10 ms in which nothing else is done."""
BATCH = 500
"""Entries of one transaction."""
COUNTED_FOR = 60.0
"""Seconds for which equal refusals become one entry, behind the first."""
MAX_COUNTED = 1_000
"""Kinds of refusals that are counted at a time; others are stored one by one."""
MAX_KEYS = 10_000
"""Keys whose first use of the day is remembered."""
RETRY = 5.0
"""Seconds until another attempt when the database could not do its work."""
SWEEP_EVERY = 3_600.0
SWEPT = 1_000
"""Entries that are removed in one transaction."""
FIELDS = tuple(each.name for each in fields(AuditEntry))

log = structlog.get_logger(__name__)


class AuditRecorder:
    """One per process."""

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit
        self._queue: deque[AuditEntry] = deque()
        self._refusals: dict[AuditEntry, int] = {}
        self._counted_until = monotonic() + COUNTED_FOR
        self._keys = BoundedDict[str, int](MAX_KEYS)
        self._waiting = asyncio.Event()
        self._writing = asyncio.Lock()

    @property
    def queued(self) -> int:
        """Entries that are not stored yet."""
        return len(self._queue)

    async def record(self, entry: AuditEntry, *, now: bool = False) -> None:
        """Stores `entry`: with `now` before this returns, else later, unless the queue is full.

        Raises:
            errors.StorageError: it had to be stored at once, and could not be.
        """
        if entry.result.startswith(("refused:", "failed:")) and self._is_counted(entry):
            return
        _log(entry)
        if now:
            await self._audit.add([entry])
            return
        self._queue.append(entry)
        self._waiting.set()
        if len(self._queue) > MAX_QUEUED:
            await finish(self.flush())

    def note(self, entry: AuditEntry) -> None:
        """Stores it later, however full the queue is: for what the gateway does by itself."""
        _log(entry)
        self._queue.append(entry)
        self._waiting.set()

    async def used_key(self, who: Principal, address: str | None) -> None:
        """Records the first use of their key on a day (UTC), in this process. Raises as `record`."""
        if who.key_id is None or self._keys.get(who.key_id) == (day := now_ms() // DAY_MS):
            return
        self._keys[who.key_id] = day
        await self.record(
            AuditEntry(
                now_ms(),
                who.tenant,
                who.user_id,
                who.key_id,
                address,
                "key.use",
                "key",
                who.key_id,
                "done",
                None,
            )
        )

    async def run(self) -> None:
        """Stores what is queued, until it is cancelled."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._waiting.wait(), max(0, self._counted_until - monotonic()))
            if monotonic() >= self._counted_until:
                self._end_counts()
            if self._queue:
                await asyncio.sleep(GATHER)
            if not await self.catch_up():
                await asyncio.sleep(RETRY)

    async def close(self) -> None:
        """Stores what is left; a database that cannot is logged."""
        self._end_counts()
        try:
            await self.flush()
        except StorageError as error:
            log.error("audit_lost", code=error.code, error=str(error), entries=len(self._queue))

    async def catch_up(self) -> bool:
        """Stores all that is queued. False: the database cannot, and the rest stays queued."""
        try:
            await finish(self.flush())
        except StorageError as error:
            log.warning("audit_not_stored", code=error.code, error=str(error), entries=len(self._queue))
            return False
        return True

    async def flush(self) -> None:
        """Stores all that is queued. Raises errors.StorageError: the rest stays queued."""
        async with self._writing:
            while self._queue:
                batch = [self._queue[number] for number in range(min(BATCH, len(self._queue)))]
                await self._audit.add(batch)
                for _ in batch:
                    self._queue.popleft()
            self._waiting.clear()

    def _is_counted(self, entry: AuditEntry) -> bool:
        """Whether the refusal is only counted, as one like it came before in this minute."""
        kind = replace(entry, at=0, request_id=None)
        if entry.actor is None and kind not in self._refusals and len(self._refusals) >= MAX_COUNTED:
            kind = replace(kind, address=None)  # nobody fills the database from many addresses
            self._refusals.setdefault(kind, 0)
        if kind in self._refusals:
            self._refusals[kind] += 1
            return True
        if len(self._refusals) < MAX_COUNTED:
            self._refusals[kind] = 0
        return False

    def _end_counts(self) -> None:
        counted, self._refusals = self._refusals, {}
        self._counted_until = monotonic() + COUNTED_FOR
        for kind, times in counted.items():
            if times:
                entry = replace(kind, at=now_ms(), times=times)
                _log(entry)
                self._queue.append(entry)


def _log(entry: AuditEntry) -> None:
    log.info("audit", **{name: value for name in FIELDS if (value := getattr(entry, name)) is not None})


class UserAudit:
    """What admins read, each of their own tenant."""

    def __init__(self, audit: AuditLog, recorder: AuditRecorder, settings: Settings) -> None:
        self._audit = audit
        self._recorder = recorder
        self._days = settings.audit_days

    async def list(
        self, who: Principal, wanted: AuditFilter, *, before: int | None, limit: int
    ) -> Sequence[StoredEntry]:
        """The newest first, with what was done in this process before, if that can be stored."""
        if before is None:
            await self._recorder.catch_up()
        return await self._audit.list(who.tenant, wanted, before=before, limit=limit)

    async def export(self, who: Principal, wanted: AuditFilter) -> AsyncGenerator[Sequence[StoredEntry]]:
        """All of them, the newest first, EXPORTED at a time. Raises as `list`."""
        before: int | None = None
        while found := await self.list(who, wanted, before=before, limit=EXPORTED):
            yield found
            before = found[-1].number

    async def sweep(self) -> None:
        """Removes what is older than `audit_days`, again and again, until it is cancelled. Raises
        errors.StorageError."""
        while True:
            now = now_ms()
            while self._days and (
                await self._audit.sweep(before=now - self._days * DAY_MS, now=now, limit=SWEPT) == SWEPT
            ):
                pass
            await asyncio.sleep(SWEEP_EVERY)
