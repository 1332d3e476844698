"""Schedules, their runs and results, in the database."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    Connection,
    Text,
    and_,
    bindparam,
    delete,
    exists,
    func,
    literal_column,
    null,
    or_,
    select,
    update,
)

from gateway.errors import Conflict, NotFound
from gateway.ids import now_ms
from gateway.storage.database import (
    OwnerLock,
    Prepared,
    SessionLock,
    Store,
    query,
    transaction,
)
from gateway.storage.holds import check_not_held
from gateway.storage.row_codec import Rows
from gateway.storage.schedules import (
    KEPT_RUNS,
    Awaited,
    Planned,
    ScheduleRow,
    ScheduleRun,
    Undelivered,
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
SCHEDULES = Rows(ScheduleRow, schedules)
RUNS = Rows(ScheduleRun, schedule_runs)

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

_OF_RUN = (
    schedule_runs.c.schedule_id == bindparam("schedule_id"),
    schedule_runs.c.due_at == bindparam("of"),
)
FINISHED = "schedule.finished"
"""What a webhook that is the destination of a schedule is told."""
_deliver_at = schedule_runs.c.deliver_at
UNDELIVERED = Prepared(
    select(*RUNS.columns, *SCHEDULES.columns, _deliver_at, schedule_runs.c.tries)
    .join_from(schedule_runs, schedules, schedules.c.id == schedule_runs.c.schedule_id)
    .where(_deliver_at <= bindparam("now"))
    .order_by(_deliver_at)
    .limit(bindparam("limit"))
)
CLAIM_DELIVERY = Prepared(
    update(schedule_runs)
    .where(*_OF_RUN, _deliver_at == bindparam("former"))
    .values(deliver_at=bindparam("again_at"), tries=schedule_runs.c.tries + 1)
)
DELIVERED = Prepared(
    update(schedule_runs).where(*_OF_RUN, _deliver_at.is_not(None)).values(deliver_at=null())
)


class Schedules(Store):
    """The schedules of users, their runs, and results of runs on their way to destinations."""

    async def add(self, row: ScheduleRow, *, most: int) -> None:
        """Adds a schedule. Raises errors.Conflict (too_many_schedules): its owner has `most` already."""

        def work(connection: Connection) -> None:
            if COUNT.value(connection, owner=row.owner) >= most:
                raise Conflict(f"You have {most} schedules already: delete one.", code="too_many_schedules")
            SCHEDULES.add(connection, row)

        await self.database.write(work, over=OwnerLock(row.owner))

    @query
    def get(self, connection: Connection, schedule_id: str, owner: str) -> ScheduleRow:
        """The schedule of that id and owner. Raises errors.NotFound (schedule_not_found)."""
        row = ONE.one(connection, schedule_id=schedule_id, owner=owner)
        if row is None:
            raise _not_found(schedule_id)
        return SCHEDULES.read(row)

    @query
    def list(self, connection: Connection, owner: str, limit: int) -> Sequence[ScheduleRow]:
        """The owner's, the newest first."""
        return [SCHEDULES.read(row) for row in LIST.all(connection, owner=owner, limit=limit)]

    @query
    def runs(self, connection: Connection, schedule_id: str, limit: int) -> Sequence[ScheduleRun]:
        """Its runs, those of the newest due times first."""
        return [RUNS.read(row) for row in OF_SCHEDULE.all(connection, schedule_id=schedule_id, limit=limit)]

    @transaction
    def change(self, connection: Connection, row: ScheduleRow, planned: Planned) -> bool:
        """Has the schedule do that next, with the key of `row`, unless its status or its due time is another
        than `row` says."""
        return _move(connection, row, planned)

    @transaction
    def remove(self, connection: Connection, schedule_id: str, owner: str) -> None:
        """Removes it with its runs; their turns go on. Raises errors.NotFound (schedule_not_found),
        errors.Conflict (legal_hold)."""
        check_not_held(connection, owner)
        if REMOVE.run(connection, schedule_id=schedule_id, owner=owner).rowcount != 1:
            raise _not_found(schedule_id)
        REMOVE_RUNS.run(connection, schedule_id=schedule_id)

    @query
    def awaited(self, connection: Connection, now: int) -> Awaited:
        """What there is to do by now, in one read: nearly always nothing."""
        over, due, undelivered = AWAITED.all(connection, now=now)[0]
        return Awaited(bool(over), bool(due), bool(undelivered))

    @query
    def due(
        self, connection: Connection, now: int, after: tuple[int, str], limit: int
    ) -> Sequence[ScheduleRow]:
        """Those with a due time up to `now` and no run under way, by due time and id, behind `after`."""
        found = DUE.all(connection, now=now, after=after[0], after_id=after[1], limit=limit)
        return [SCHEDULES.read(row) for row in found]

    @query
    def ahead(self, connection: Connection, of: int, after: str, limit: int) -> Sequence[ScheduleRow]:
        """Active ones that are due later than that time, by id, behind `after`."""
        return [SCHEDULES.read(row) for row in AHEAD.all(connection, moment=of, after_id=after, limit=limit)]

    @query
    def held_up(self, connection: Connection, before: int) -> int:
        """How many have been due since before that time, with a run under way."""
        return HELD_UP.value(connection, before=before)

    async def begin(
        self, row: ScheduleRow, planned: Planned, new: NewTurn, *, max_queued: int
    ) -> Accepted | None:
        """Accepts the turn of the due time of `row`, and plans the next. None, and nothing done, when the due
        time is another by now: somebody else began the run, or the schedule was changed. None as well, and
        the next planned, when a run of that time is noted already: a clock was set back. Raises as
        `Turns.accept`; the schedule is as it was then."""

        def work(connection: Connection) -> Accepted | None:
            # First: whoever else begins the same run waits for this one's end, and finds the time moved.
            if not _move(connection, row, planned) or _is_noted(connection, row):
                return None
            accepted = accept(connection, self.database.replica, new, max_queued=max_queued)
            if not accepted.repeated:
                assert row.due_at is not None  # it was due
                _note(
                    connection,
                    ScheduleRun(row.id, row.due_at, "started", new.at, new.session_id, accepted.turn.id),
                )
            return accepted

        return await self.database.write(work, over=SessionLock(new.session_id))

    @transaction
    def skip_run(self, connection: Connection, row: ScheduleRow, planned: Planned, run: ScheduleRun) -> bool:
        """Plans the next time without a turn, and notes `run` in its place; False as `begin` returns None.
        Where the schedule has a destination it is undelivered from then on."""
        if not _move(connection, row, planned) or _is_noted(connection, row):
            return False
        _note(connection, run)
        WANT.run(connection, schedule_id=row.id, of=run.due_at)
        _enqueue_failed(connection, run)
        return True

    async def settle(self, limit: int) -> Sequence[ScheduleRun]:
        """Notes of at most `limit` runs whose turns are over how they ended. Each is returned once, to one
        process. Where the schedule has a destination it is undelivered from then on."""
        rows = await self.database.read(lambda connection: OVER.all(connection, limit=limit), snapshot=False)
        found = [_ended(*row) for row in rows]

        def work(connection: Connection) -> Sequence[ScheduleRun]:
            return [run for run in found if _settled(connection, run)]

        return await self.database.write(work) if found else []

    @query
    def undelivered(self, connection: Connection, now: int, limit: int) -> Sequence[Undelivered]:
        """Runs that are to be delivered by now, those first that wait longest."""
        return [_undelivered(*row) for row in UNDELIVERED.all(connection, now=now, limit=limit)]

    @transaction
    def claim_delivery(self, connection: Connection, found: Undelivered, again_at: int | None) -> bool:
        """Has it be delivered again at that time, or (None) not any more; False: another process has it, or
        it is gone."""
        values = {"former": found.deliver_at, "again_at": again_at}
        run = found.run
        return (
            CLAIM_DELIVERY.run(connection, schedule_id=run.schedule_id, of=run.due_at, **values).rowcount == 1
        )

    @transaction
    def enqueue_result(
        self, connection: Connection, schedule: ScheduleRow, run: ScheduleRun, webhook_id: str, key: str
    ) -> bool:
        """Adds a delivery of what became of `run` to that webhook of the schedule's owner, and has the run
        delivered no more, in one transaction: once, however often it is asked. Where the webhook is off it
        is dead. False: there is no such webhook."""
        if DELIVERED.run(connection, schedule_id=run.schedule_id, of=run.due_at).rowcount != 1:
            return True
        told = _detail(run, schedule.name) | {"key": key}
        return enqueue(
            connection, schedule.owner, FINISHED, now_ms(), told, webhook_id=webhook_id, **_place(run)
        )


def _move(connection: Connection, row: ScheduleRow, planned: Planned) -> bool:
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
    enqueue(connection, owner, "schedule.failed", now_ms(), _detail(run, name), **_place(run))


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


def _detail(run: ScheduleRun, name: str) -> dict[str, object]:
    """What a webhook is told of a run of the schedule of that name."""
    return {
        "schedule_id": run.schedule_id,
        "name": name,
        "due_at": run.due_at,
        "status": run.status,
        "code": run.code,
    }


def _place(run: ScheduleRun) -> dict[str, str | None]:
    """Where it ran, as `enqueue` takes it."""
    return {"session_id": run.session, "turn_id": run.turn_id}


def _undelivered(*row: Any) -> Undelivered:
    *columns, deliver_at, tries = row
    run, schedule = columns[: len(RUNS.columns)], columns[len(RUNS.columns) :]
    return Undelivered(SCHEDULES.read(schedule), RUNS.read(run), deliver_at, tries)
