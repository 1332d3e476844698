"""Schedules: messages that are sent at set times."""

from typing import Literal

from pydantic import Field
from starlette.responses import Response

from gateway.http.endpoint import endpoint
from gateway.http.json_types import Body, Line, Message, Reply, SessionId, json_reply
from gateway.http.requests import ApiRequest
from gateway.schedules.due_times import MAX_CRON
from gateway.schedules.schedule_editor import (
    MAX_DESTINATION,
    MAX_MESSAGE,
    MAX_NAME,
    RUNS_SHOWN,
    UPCOMING,
    NewSchedule,
    next_of,
)
from gateway.storage.schedules import Late, RunStatus, ScheduleStatus


class TimingBody(Body):
    """When it is sent: one of `at`, `every` and `cron`."""

    at: str | None = Field(
        None,
        max_length=40,
        description="Once, at this date and time (ISO 8601): by the clocks of the time zone, unless it has "
        "an offset. With `every` the first time.",
    )
    every: int | None = Field(None, ge=1, description="Again and again: seconds between two times.")
    cron: str | None = Field(
        None,
        max_length=MAX_CRON,
        description="Five fields: minute, hour, day of month, month, day of week.",
    )
    timezone: str = Field("UTC", max_length=64, description="IANA name of the zone whose clocks count.")


class ScheduleBody(TimingBody):
    """What is sent, and when: one of `at`, `every` and `cron`."""

    message: Message = Field(max_length=MAX_MESSAGE)
    session_id: SessionId | None = Field(
        None, description="Where it is sent. Absent: to a new session each time."
    )
    name: Line | None = Field(None, max_length=MAX_NAME, description="Absent: the beginning of the message.")
    late: Late = Field(
        "once",
        description="What becomes of times that passed while nothing could run: none of them runs, one run "
        "stands for all, or each runs that is not older than a day.",
    )
    destination: str | None = Field(
        None,
        max_length=MAX_DESTINATION,
        description="Where results are delivered beside the session, KIND:ADDRESS, of the kinds that this "
        "gateway has.",
    )


class SchedulePreview(Reply):
    """When such a schedule would be due."""

    upcoming: list[int] = Field(description=f"The first times, at most {UPCOMING}.")


class ScheduleChanges(Body):
    status: Literal["active", "paused"]


class ScheduleReply(Reply):
    """A message that is sent at set times."""

    id: str
    name: str
    message: str
    session_id: str | None = Field(None, description="Absent: a new session each time.")
    at: int | None = None
    every: int | None = None
    cron: str | None = None
    timezone: str
    late: Late
    status: ScheduleStatus = Field(description="ended: it has no further time.")
    reason: str | None = Field(None, description="Why the gateway paused it: a code or a sentence.")
    due_at: int | None = Field(None, description="The next time.")
    destination: str | None = None
    created_at: int


class ScheduleRunReply(Reply):
    """What became of one of its times. `started`: the turn is under way."""

    due_at: int
    status: RunStatus
    at: int = Field(description="When the turn was accepted, or was not.")
    session_id: str | None = None
    turn_id: str | None = None
    code: str | None = Field(None, description="Why there was no turn.")


class ScheduleDetails(ScheduleReply):
    upcoming: list[int] = Field(description=f"The next times, at most {UPCOMING}.")
    runs: list[ScheduleRunReply] = Field(description=f"The last {RUNS_SHOWN}, the newest first.")


class ScheduleList(Reply):
    """The caller's, the newest first."""

    schedules: list[ScheduleReply]


@endpoint(
    "POST",
    "/api/schedules",
    "schedule.create",
    {201: (ScheduleReply,)},
    ScheduleBody,
    refusals=(404, 409, 413),
)
async def create(request: ApiRequest) -> Response:
    """Makes a schedule: its message is sent for you at the times that it names."""
    body = await request.read_body(ScheduleBody)
    made = await request.gateway.schedules.create(request.principal, NewSchedule(**body.model_dump()))
    request.concerns("schedule", made.id)
    return json_reply(ScheduleReply.from_row(made, session_id=made.session), 201)


@endpoint(
    "POST",
    "/api/schedules/preview",
    "schedule.preview",
    {200: (SchedulePreview,)},
    TimingBody,
    refusals=(413,),
)
async def preview(request: ApiRequest) -> Response:
    """When a schedule would be due that is not made yet; why it would be refused."""
    body = await request.read_body(TimingBody)
    return json_reply(
        SchedulePreview(upcoming=[*request.gateway.schedules.preview(NewSchedule("", **body.model_dump()))])
    )


@endpoint("GET", "/api/schedules", "schedule.list", {200: (ScheduleList,)})
async def find(request: ApiRequest) -> Response:
    """Your schedules."""
    rows = await request.gateway.schedules.list(request.principal)
    return json_reply(
        ScheduleList(schedules=[ScheduleReply.from_row(row, session_id=row.session) for row in rows])
    )


@endpoint("GET", "/api/schedules/{schedule_id}", "schedule.read", {200: (ScheduleDetails,)}, refusals=(404,))
async def read(request: ApiRequest) -> Response:
    """A schedule, with its last runs."""
    schedule_id = request.path_id("schedule_id")
    row = await request.gateway.schedules.get(request.principal, schedule_id)
    runs = await request.gateway.schedules.runs(request.principal, schedule_id)
    shown = [ScheduleRunReply.from_row(run, session_id=run.session) for run in runs]
    upcoming = next_of(row)
    return json_reply(ScheduleDetails.from_row(row, session_id=row.session, upcoming=upcoming, runs=shown))


@endpoint(
    "PATCH",
    "/api/schedules/{schedule_id}",
    "schedule.change",
    {200: (ScheduleReply,)},
    ScheduleChanges,
    refusals=(404, 409, 413),
)
async def change(request: ApiRequest) -> Response:
    """Pauses or resumes a schedule. What passes meanwhile does not count as late."""
    body = await request.read_body(ScheduleChanges)
    verbs = request.gateway.schedules
    act = verbs.pause if body.status == "paused" else verbs.resume
    row = await act(request.principal, request.path_id("schedule_id"))
    return json_reply(ScheduleReply.from_row(row, session_id=row.session))


@endpoint("DELETE", "/api/schedules/{schedule_id}", "schedule.delete", {204: (None,)}, refusals=(404,))
async def delete(request: ApiRequest) -> Response:
    """Removes a schedule with the record of its runs. A turn that is under way goes on."""
    await request.gateway.schedules.delete(request.principal, request.path_id("schedule_id"))
    return Response(status_code=204)


@endpoint(
    "POST", "/api/schedules/{schedule_id}/run", "schedule.run", {202: (ScheduleReply,)}, refusals=(404, 409)
)
async def run(request: ApiRequest) -> Response:
    """Sends the message now, once, also of a schedule that is paused: within a second or two."""
    row = await request.gateway.schedules.run_now(request.principal, request.path_id("schedule_id"))
    return json_reply(ScheduleReply.from_row(row, session_id=row.session), 202)
