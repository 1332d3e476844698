"""Access ends: by a person, or by itself. What was begun with it ends, and the audit says so.

    revoke, sign out ──▶ end_key, end_sign_in ──┐
    expired, still used ── every LOOK_EVERY ────┴──▶ turns stop, schedules tell their sessions, audit

What is open, as a stream, ends in each process by itself (open_access.py).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import structlog

from gateway.auth import tenant_of
from gateway.errors import GatewayError, StorageError
from gateway.events.session_changes import Schedule
from gateway.ids import now_ms
from gateway.service.audit import AuditRecorder
from gateway.service.schedules import publish_change
from gateway.service.session_events import SessionEvents
from gateway.service.standing_access import StandingAccess
from gateway.storage.audit import AuditEntry
from gateway.storage.ended_access import Ended, EndedAccess, Overdue
from gateway.storage.schedules import KEY_REVOKED
from gateway.storage.turns import TurnRow

LOOK_EVERY = 0.7
"""Seconds between two looks for what has expired."""
WITHOUT_ACCOUNTS = 60.0
"""The same, where nobody comes with a key: one of before may still expire."""
USED_EVERY = 4
"""With one of so many looks also for what is still used."""
GATEWAY = "gateway:access"
"""Who it is in the audit, where nobody did it."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AccessEnding:
    """One per process; `run` belongs to the leader. `stop` ends turns that were asked to."""

    store: EndedAccess
    standing: StandingAccess
    stop: Callable[[Sequence[TurnRow]], Awaitable[None]]
    events: SessionEvents
    recorder: AuditRecorder

    async def end_key(self, key_id: str, user_id: str, *, by: str = GATEWAY) -> None:
        """Revokes a key of that user, and ends what rests on it. Raises errors.StorageError."""
        await self._end(Overdue("key", key_id, user_id), by)

    async def end_sign_in(self, digest: str, user_id: str, *, heir: str | None = None) -> None:
        """Signs a browser of that user out; its turns go on where there is an `heir`, another sign-in of
        theirs in it. Raises errors.StorageError."""
        await self._end(Overdue("sign_in", digest, user_id), user_id, heir)

    async def run(self) -> None:
        """Ends what has expired, and what is still used, until it is cancelled; first what was made with keys
        of the settings that are there no more."""
        looks, is_listed = 0, False
        while True:
            try:
                found = list(await self.store.expired(now_ms(), self.standing.idle_since))
                if looks % USED_EVERY == 0:
                    found += await self.store.still_used()
                    if not is_listed:
                        gone = await self.store.unlisted(self.standing.static, self.standing.since)
                        found, is_listed = [*found, *gone], not gone
                for each in found:
                    await self._end(each, GATEWAY)
            except StorageError as error:
                log.warning("access_not_ended", code=error.code, error=str(error))
            looks += 1
            await asyncio.sleep(LOOK_EVERY if self.standing.has_accounts else WITHOUT_ACCOUNTS)

    async def _end(self, access: Overdue, by: str, heir: str | None = None) -> None:
        if access.is_unlisted:
            ended = await self.store.end_unlisted(access.id, now_ms())
        elif access.kind == "key":
            ended = await self.store.end_key(access.id, now_ms())
        else:
            ended = await self.store.end_sign_in(access.id, heir)
        self._note(access, by, ended)
        for row in ended.schedules:
            change = Schedule(schedule_id=row.id, name=row.name, action="paused", code=KEY_REVOKED)
            await publish_change(self.events, row, change)
        try:
            await self.stop(ended.turns)
        except GatewayError as error:  # they are still used, and looked at again
            log.warning("turns_not_stopped", code=error.code, error=str(error), turns=len(ended.turns))

    def _note(self, access: Overdue, by: str, ended: Ended) -> None:
        shown = access.id if access.kind == "key" else access.id[:16]
        counts: dict[Literal["turn.end", "schedule.pause", "webhook.disable", "grant.end"], int] = {
            "turn.end": len(ended.turns),
            "schedule.pause": len(ended.schedules),
            "webhook.disable": len(ended.webhooks),
            "grant.end": len(ended.grants),
        }
        for action, times in counts.items():
            if times:
                tenant = tenant_of(access.user_id)
                self.recorder.note(
                    AuditEntry(
                        now_ms(), tenant, by, None, None, action, access.kind, shown, "done", None, times
                    )
                )
        if by == GATEWAY:
            named = {name.replace(".", "_"): times for name, times in counts.items()}
            log.info("access_expired", kind=access.kind, id=shown, user_id=access.user_id, **named)
