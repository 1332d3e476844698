"""Sessions are archived and deleted when they were not used for as long as is set.

    a session's own days  ──▶ else its tenant's ──▶ else the settings'       value by value
    a tenant's rule that is fixed ──▶ goes before a session's own

Deletion goes before archiving. What is held stays. Sessions with a turn that runs or waits are passed over.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import structlog

from gateway.auth import Principal, tenant_of
from gateway.backlog import Failures
from gateway.errors import Conflict, Forbidden, GatewayError, NotFound
from gateway.ids import DAY_MS, now_ms
from gateway.service.admin_rights import is_admin_of, is_operator
from gateway.service.archiver import Archiver
from gateway.service.dependencies import Dependencies
from gateway.service.session_removal import remove_session
from gateway.settings import Settings
from gateway.storage.retention import FOR_GOOD, RetainedSession, RetentionRule, SessionDays

PAGE = 500
"""Sessions that are read at a time."""
MAX_APPLIED = 100
"""Sessions that one look archives or deletes."""
MAX_PREVIEWED = 1_000
FIRST_RETRY, LAST_RETRY, MAX_FAILED = 300.0, 21_600.0, 500
"""Seconds until a session is tried again with which something failed, as with other upkeep."""

Action = Literal["archive", "delete"]
OnDeleted = Callable[[RetainedSession], None]

log = structlog.get_logger(__name__)


class Days(NamedTuple):
    """Milliseconds without use after which something is done; None: never."""

    archive: int | None
    delete: int | None


class Due(NamedTuple):
    """What is to be done with a session, and since when (Unix ms)."""

    session: RetainedSession
    action: Action
    since: int


@dataclass(frozen=True, slots=True)
class Preview:
    """What would go now: how many sessions, and the first of them."""

    deleted: int
    archived: int
    held: int
    sessions: Sequence[Due]


def ignore(_: RetainedSession) -> None:
    """Observes nothing."""


class RetentionSweep:
    """One per process; the leader's applies it. `deleted` is called for each session that was."""

    def __init__(self, deps: Dependencies, archiver: Archiver, deleted: OnDeleted = ignore) -> None:
        self._deps = deps
        self._archiver = archiver
        self._deleted = deleted
        self._failed = Failures[str](FIRST_RETRY, LAST_RETRY, MAX_FAILED)
        self._after = ""
        self.expired = 0
        """Sessions that were deleted."""

    async def look(self) -> bool:
        """Does at most MAX_APPLIED of what is due, and goes on behind that the next time. Whether it has come
        to the end. Raises errors.StorageError."""
        done = 0
        async for due in self.due(after=self._after):
            if (due.session.is_held and due.action == "delete") or due.session.id in self._failed:
                continue
            self._after = due.session.id
            await self._apply(due)
            done += 1
            if done == MAX_APPLIED:
                return False
        self._after = ""
        return True

    async def due(self, *, after: str = "") -> AsyncGenerator[Due]:
        """What is due now, by session id, also of those that are held. Raises errors.StorageError."""
        retention, settings, now = self._deps.retention, self._deps.settings, now_ms()
        rules = {rule.tenant: rule for rule in await retention.rules()}
        defaults = [
            each
            for each in map(
                _ms, (settings.archive_after, settings.delete_after, settings.delete_temporary_after)
            )
            if each is not None
        ]
        before = now - min(DAY_MS, *defaults, DAY_MS)
        while page := await retention.idle(before=before, after=after, limit=PAGE):
            after = page[-1].id
            for session in page:
                days = days_of(session, rules, settings)
                actions: tuple[tuple[Action, int | None], ...] = (
                    ("delete", days.delete),
                    ("archive", days.archive),
                )
                for action, days_ms in actions:
                    if days_ms is None or session.updated_at + days_ms >= now:
                        continue
                    if action == "archive" and session.is_archived:
                        continue
                    yield Due(session, action, session.updated_at + days_ms)
                    break
            if len(page) < PAGE:
                return

    async def _apply(self, due: Due) -> None:
        session = due.session
        try:
            if due.action == "archive":
                await self._archiver.archive(await self._deps.sessions.get(session.id, session.owner))
            else:
                seen = session.updated_at, session.delete_days
                await remove_session(self._deps, session.id, session.owner, only_if=seen)
                self.expired += 1
                log.info("session_expired", session_id=session.id)
                self._deleted(session)
            self._failed.forget(session.id)
        except (NotFound, Conflict) as error:  # it is gone, used again or held meanwhile
            log.info("retention_put_off", session_id=session.id, code=error.code)
        except GatewayError as error:
            self._failed.add(session.id)
            log.warning(f"{due.action}_failed", session_id=session.id, code=error.code, error=str(error))
        except Exception:  # with one session: the others are looked after all the same
            self._failed.add(session.id)
            log.exception(f"{due.action}_failed", session_id=session.id)


def days_of(session: RetainedSession, rules: Mapping[str, RetentionRule], settings: Settings) -> Days:
    """What holds for a session."""
    if session.is_temporary:
        return Days(None, _ms(settings.delete_temporary_after))
    rule = rules.get(tenant_of(session.owner))
    own = (None, None) if rule and rule.fixed else (session.archive_days, session.delete_days)
    tenants = (rule.archive_days, rule.delete_days) if rule else (None, None)
    default = (_ms(settings.archive_after), _ms(settings.delete_after))
    return Days(*(_first(*each) for each in zip(own, tenants, default, strict=True)))


def _first(own: int | None, tenants: int | None, default: int | None) -> int | None:
    days = own if own is not None else tenants
    if days is None:
        return default
    return None if days == FOR_GOOD else days * DAY_MS


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds * 1000)


class TenantRetention:
    """The operations of retention. One per process."""

    def __init__(self, deps: Dependencies, applied: RetentionSweep) -> None:
        self._deps = deps
        self.applied = applied

    async def rule(self, who: Principal, tenant: str | None = None) -> RetentionRule | None:
        """The tenant's, by default the caller's own. Raises errors.Forbidden."""
        wanted = self._tenant(who, tenant)
        rules = {rule.tenant: rule for rule in await self._deps.retention.rules()}
        return rules.get(wanted)

    async def put(
        self,
        who: Principal,
        *,
        tenant: str | None,
        archive_days: int | None,
        delete_days: int | None,
        fixed: bool,
    ) -> RetentionRule:
        """In place of the tenant's former rule. Raises errors.Forbidden."""
        wanted = self._tenant(who, tenant)
        rule = RetentionRule(wanted, archive_days, delete_days, fixed, who.user_id, now_ms())
        await self._deps.retention.put(rule)
        return rule

    async def preview(self, who: Principal) -> Preview:
        """What would go of the caller's tenant, or of all. Reads all sessions that were not used for a
        day."""
        counts, found = {"delete": 0, "archive": 0, "held": 0}, list[Due]()
        async for due in self.applied.due():
            if not (is_operator(who) or tenant_of(due.session.owner) == who.tenant):
                continue
            if due.session.is_held and due.action == "delete":
                counts["held"] += 1
                continue
            counts[due.action] += 1
            if len(found) < MAX_PREVIEWED:
                found.append(due)
        return Preview(counts["delete"], counts["archive"], counts["held"], found)

    async def check(self, who: Principal, days: SessionDays) -> None:
        """Raises errors.Conflict (retention_fixed): a session of the caller's may not have these of its own,
        as the tenant's rule is fixed."""
        rules = {rule.tenant: rule for rule in await self._deps.retention.rules()}
        rule = rules.get(who.tenant)
        if rule is not None and rule.fixed and days != (None, None):
            raise Conflict(
                "The retention of your tenant is fixed: sessions have none of their own.",
                code="retention_fixed",
            )

    def _tenant(self, who: Principal, tenant: str | None) -> str:
        wanted = tenant or who.tenant
        if not is_admin_of(who, wanted):
            raise Forbidden(f"You are no admin of the tenant {wanted}.", details={"scope": "admin"})
        return wanted
