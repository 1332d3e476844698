"""Results of schedules, where they are wanted beside their session, in SQL."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, null, select, update

from gateway.ids import now_ms
from gateway.storage.database import Prepared
from gateway.storage.row_codec import Rows
from gateway.storage.schedules import ScheduleRow, ScheduleRun, Undelivered
from gateway.storage.schema import schedule_runs, schedules
from gateway.storage.webhooks.enqueue import enqueue

SCHEDULES = Rows(ScheduleRow, schedules)
RUNS = Rows(ScheduleRun, schedule_runs)
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


def undelivered(connection: Connection, now: int, limit: int) -> Sequence[Undelivered]:
    found: list[Undelivered] = []
    for row in UNDELIVERED.all(connection, now=now, limit=limit):
        *columns, deliver_at, tries = row
        run, schedule = columns[: len(RUNS.columns)], columns[len(RUNS.columns) :]
        found.append(Undelivered(SCHEDULES.read(schedule), RUNS.read(run), deliver_at, tries))
    return found


def claim_delivery(connection: Connection, found: Undelivered, again_at: int | None) -> bool:
    values = {"former": found.deliver_at, "again_at": again_at}
    run = found.run
    return CLAIM_DELIVERY.run(connection, schedule_id=run.schedule_id, of=run.due_at, **values).rowcount == 1


def enqueue_result(
    connection: Connection, schedule: ScheduleRow, run: ScheduleRun, webhook_id: str, key: str
) -> bool:
    if DELIVERED.run(connection, schedule_id=run.schedule_id, of=run.due_at).rowcount != 1:
        return True
    told = detail(run, schedule.name) | {"key": key}
    return enqueue(connection, schedule.owner, FINISHED, now_ms(), told, webhook_id=webhook_id, **place(run))


def detail(run: ScheduleRun, name: str) -> dict[str, object]:
    """What a webhook is told of a run of the schedule of that name."""
    return {
        "schedule_id": run.schedule_id,
        "name": name,
        "due_at": run.due_at,
        "status": run.status,
        "code": run.code,
    }


def place(run: ScheduleRun) -> dict[str, str | None]:
    """Where it ran, as `enqueue` takes it."""
    return {"session_id": run.session, "turn_id": run.turn_id}
