"""Schedules and their runs, in SQL."""

from collections.abc import Sequence

from sqlalchemy import (
    Connection,
    Text,
    and_,
    bindparam,
    delete,
    exists,
    func,
    literal_column,
    or_,
    select,
    update,
)

from gateway.errors import Conflict, NotFound
from gateway.ids import now_ms
from gateway.storage.database import OwnerLock, Prepared, SessionLock, Store, claims, reads, writes
from gateway.storage.holds import check_not_held
from gateway.storage.schedules import KEPT_RUNS, Awaited, Planned, ScheduleRow, ScheduleRun
from gateway.storage.schedules.results import (
    RUNS,
    SCHEDULES,
    claim_delivery,
    detail,
    enqueue_result,
    place,
    undelivered,
)
from gateway.storage.schema import schedule_runs, schedules, turns
from gateway.storage.turns import Accepted, NewTurn
from gateway.storage.turns.beginning import accept
from gateway.storage.webhooks.enqueue import enqueue

# Literals, as in schema.py: the index is of such runs alone.
_STARTED = schedule_runs.c.status == literal_column("'started'", Text)
_ID = schedules.c.id == bindparam("schedule_id")
_OWN = schedules.c.owner == bindparam("owner")
_OF_SCHEDULE = schedule_runs.c.schedule_id == bindparam("schedule_id")
_OF_TIME = schedule_runs.c.due_at == bindparam("of")
_due, _after = schedules.c.due_at, bindparam("after")

COUNT = Prepared(select(func.count()).select_from(schedules).where(_OWN))
ONE = Prepared(select(*SCHEDULES.columns).where(_ID, _OWN))
LIST = Prepared(
    select(*SCHEDULES.columns)
    .where(_OWN)
    .order_by(schedules.c.created_at.desc(), schedules.c.id.desc())
    .limit(bindparam("limit"))
)
OF_SCHEDULE = Prepared(
    select(*RUNS.columns)
    .where(_OF_SCHEDULE)
    .order_by(schedule_runs.c.due_at.desc())
    .limit(bindparam("limit"))
)
REMOVE = Prepared(delete(schedules).where(_ID, _OWN))
REMOVE_RUNS = Prepared(delete(schedule_runs).where(_OF_SCHEDULE))
_is_due = and_(
    _due <= bindparam("now"), ~exists().where(schedule_runs.c.schedule_id == schedules.c.id, _STARTED)
)
DUE = Prepared(
    select(*SCHEDULES.columns)
    .where(
        _is_due,
        _due >= _after,
        or_(_due > _after, schedules.c.id > bindparam("after_id")),
    )
    .order_by(_due, schedules.c.id)
    .limit(bindparam("limit"))
)
AHEAD = Prepared(
    select(*SCHEDULES.columns)
    .where(
        schedules.c.status == literal_column("'active'", Text),
        _due > bindparam("moment"),
        schedules.c.id > bindparam("after_id"),
    )
    .order_by(schedules.c.id)
    .limit(bindparam("limit"))
)
NOTED = Prepared(select(schedule_runs.c.status).where(_OF_SCHEDULE, _OF_TIME))
NAMED = Prepared(select(schedules.c.owner, schedules.c.name).where(_ID))
FAILED = frozenset({"failed", "interrupted", "limit_reached", "missed", "refused"})
"""What became of runs that webhooks report."""
HELD_UP = Prepared(
    select(func.count())
    .select_from(schedule_runs)
    .join(schedules, schedules.c.id == schedule_runs.c.schedule_id)
    .where(_STARTED, bindparam("before") >= _due)
)
MOVE = Prepared(
    update(schedules)
    .where(
        _ID,
        schedules.c.status == bindparam("former"),
        func.coalesce(_due, literal_column("0")) == bindparam("former_due"),
    )
    .values(
        due_at=bindparam("due_at"),
        status=bindparam("status"),
        reason=bindparam("reason"),
        key_id=bindparam("key"),
    )
)
_oldest_kept = (
    select(schedule_runs.c.due_at)
    .where(_OF_SCHEDULE)
    .order_by(schedule_runs.c.due_at.desc())
    .limit(literal_column("1"))
    .offset(literal_column(str(KEPT_RUNS - 1)))
    .scalar_subquery()
)
FORGET_OLD = Prepared(
    delete(schedule_runs).where(_OF_SCHEDULE, ~_STARTED, schedule_runs.c.due_at < _oldest_kept)
)
_over = (
    select(*RUNS.columns, turns.c.outcome)
    .join_from(schedule_runs, turns, turns.c.id == schedule_runs.c.turn_id, isouter=True)
    .where(_STARTED, or_(turns.c.id.is_(None), turns.c.status == literal_column("'done'", Text)))
)
AWAITED = Prepared(
    select(
        _over.exists(),
        select(schedules.c.id).where(_is_due).exists(),
        select(schedule_runs.c.due_at).where(schedule_runs.c.deliver_at <= bindparam("now")).exists(),
    )
)
OVER = Prepared(_over.order_by(schedule_runs.c.schedule_id, schedule_runs.c.due_at).limit(bindparam("limit")))
# 0: as soon as somebody looks.
_wanted = select(literal_column("0")).where(_ID, schedules.c.destination.is_not(None)).scalar_subquery()
SETTLE = Prepared(
    update(schedule_runs)
    .where(and_(_OF_SCHEDULE, _OF_TIME, _STARTED))
    .values(status=bindparam("status"), deliver_at=_wanted)
)
WANT = Prepared(update(schedule_runs).where(_OF_SCHEDULE, _OF_TIME).values(deliver_at=_wanted))


def add(connection: Connection, row: ScheduleRow, most: int) -> None:
    if COUNT.value(connection, owner=row.owner) >= most:
        raise Conflict(f"You have {most} schedules already: delete one.", code="too_many_schedules")
    SCHEDULES.add(connection, row)


def get(connection: Connection, schedule_id: str, owner: str) -> ScheduleRow:
    row = ONE.one(connection, schedule_id=schedule_id, owner=owner)
    if row is None:
        raise _not_found(schedule_id)
    return SCHEDULES.read(row)


def list_(connection: Connection, owner: str, limit: int) -> Sequence[ScheduleRow]:
    return [SCHEDULES.read(row) for row in LIST.all(connection, owner=owner, limit=limit)]


def runs(connection: Connection, schedule_id: str, limit: int) -> Sequence[ScheduleRun]:
    return [RUNS.read(row) for row in OF_SCHEDULE.all(connection, schedule_id=schedule_id, limit=limit)]


def change(connection: Connection, row: ScheduleRow, planned: Planned) -> bool:
    moved = MOVE.run(
        connection,
        schedule_id=row.id,
        former=row.status,
        former_due=row.due_at or 0,
        due_at=planned.due_at,
        status=planned.status,
        reason=planned.reason,
        key=row.key_id,
    )
    return moved.rowcount == 1


def remove(connection: Connection, schedule_id: str, owner: str) -> None:
    check_not_held(connection, owner)
    if REMOVE.run(connection, schedule_id=schedule_id, owner=owner).rowcount != 1:
        raise _not_found(schedule_id)
    REMOVE_RUNS.run(connection, schedule_id=schedule_id)


def awaited(connection: Connection, now: int) -> Awaited:
    over, due, undelivered = AWAITED.all(connection, now=now)[0]
    return Awaited(bool(over), bool(due), bool(undelivered))


def due(connection: Connection, now: int, after: tuple[int, str], limit: int) -> Sequence[ScheduleRow]:
    found = DUE.all(connection, now=now, after=after[0], after_id=after[1], limit=limit)
    return [SCHEDULES.read(row) for row in found]


def ahead(connection: Connection, of: int, after: str, limit: int) -> Sequence[ScheduleRow]:
    return [SCHEDULES.read(row) for row in AHEAD.all(connection, moment=of, after_id=after, limit=limit)]


def held_up(connection: Connection, before: int) -> int:
    return HELD_UP.value(connection, before=before)


def begin(
    connection: Connection, replica: str, row: ScheduleRow, planned: Planned, new: NewTurn, *, max_queued: int
) -> Accepted | None:
    # First: whoever else is about to begin the same run waits for this one's end, and finds the time moved.
    if not change(connection, row, planned) or _is_noted(connection, row):
        return None
    accepted = accept(connection, replica, new, max_queued=max_queued)
    if not accepted.repeated:
        assert row.due_at is not None  # it was due
        _note(
            connection, ScheduleRun(row.id, row.due_at, "started", new.at, new.session_id, accepted.turn.id)
        )
    return accepted


def _session_of(row: ScheduleRow, planned: Planned, new: NewTurn, *, max_queued: int) -> SessionLock:
    return SessionLock(new.session_id)


def skip_run(connection: Connection, row: ScheduleRow, planned: Planned, run: ScheduleRun) -> bool:
    if not change(connection, row, planned) or _is_noted(connection, row):
        return False
    _note(connection, run)
    WANT.run(connection, schedule_id=row.id, of=run.due_at)
    _enqueue_failed(connection, run)
    return True


def over(connection: Connection, limit: int) -> Sequence[ScheduleRun]:
    """Runs whose turns are over, as they end."""
    return [_ended(*row) for row in OVER.all(connection, limit=limit)]


def settle(connection: Connection, found: Sequence[ScheduleRun]) -> Sequence[ScheduleRun]:
    """Those of `found` that nobody else has settled."""
    return [run for run in found if _settled(connection, run)]


def _settled(connection: Connection, run: ScheduleRun) -> bool:
    values = {"schedule_id": run.schedule_id, "of": run.due_at, "status": run.status}
    if SETTLE.run(connection, **values).rowcount != 1:
        return False
    _enqueue_failed(connection, run)
    return True


def _enqueue_failed(connection: Connection, run: ScheduleRun) -> None:
    if run.status not in FAILED:
        return
    row = NAMED.one(connection, schedule_id=run.schedule_id)
    if row is None:  # it was deleted
        return
    owner, name = row
    enqueue(connection, owner, "schedule.failed", now_ms(), detail(run, name), **place(run))


def _is_noted(connection: Connection, row: ScheduleRow) -> bool:
    """Whether its due time has come before: a clock was set back."""
    return NOTED.one(connection, schedule_id=row.id, of=row.due_at) is not None


def _note(connection: Connection, run: ScheduleRun) -> None:
    RUNS.add(connection, run)
    FORGET_OLD.run(connection, schedule_id=run.schedule_id)


def _ended(*row: object) -> ScheduleRun:
    *columns, outcome = row
    schedule_id, due_at, _, *rest = columns
    return RUNS.read([schedule_id, due_at, outcome or "deleted", *rest])


def _not_found(schedule_id: str) -> NotFound:
    return NotFound(f"There is no schedule {schedule_id}.", code="schedule_not_found")


class SqlSchedules(Store):
    """The protocols `Schedules`, `ScheduleRuns` and `ResultDeliveries`."""

    get = reads(get, snapshot=False)
    list = reads(list_, snapshot=False)
    runs = reads(runs, snapshot=False)
    change = writes(change)
    remove = writes(remove)
    awaited = reads(awaited, snapshot=False)
    due = reads(due, snapshot=False)
    held_up = reads(held_up, snapshot=False)
    ahead = reads(ahead, snapshot=False)
    skip_run = writes(skip_run)
    undelivered = reads(undelivered, snapshot=False)
    claim_delivery = writes(claim_delivery)
    enqueue_result = writes(enqueue_result)
    add = writes(add, over=lambda row, most: OwnerLock(row.owner))
    begin = claims(begin, over=_session_of)

    async def settle(self, limit: int) -> Sequence[ScheduleRun]:
        """Notes how at most `limit` runs ended whose turns are over, and returns them. Nothing is written
        when no turn is over."""
        found = await self.database.read(lambda connection: over(connection, limit), snapshot=False)
        return await self.database.write(lambda connection: settle(connection, found)) if found else []
