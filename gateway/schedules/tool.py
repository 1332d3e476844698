"""The tools for schedules: what a model may do with those of the user it serves."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from gateway.errors import NotFound, RequestRefused, StorageError, ToolError
from gateway.events.session_changes import Schedule
from gateway.schedules.schedule_editor import (
    MAX_DESTINATION,
    MAX_MESSAGE,
    MAX_NAME,
    NewSchedule,
    ScheduleEditor,
)
from gateway.storage.schedules import Late, ScheduleRow
from gateway.tools.base import FunctionTool, LastingChange, ToolContext
from gateway.tools.clock import zone
from gateway.tools.function import tool

MANAGE = "manage_schedule"
LIST = "list_schedules"
OUT_OF_REACH = "Schedules cannot be reached just now. Try again a little later."
UNOPENED = "No gateway is running here. `gateway schedules` asks one that runs."

_SHORT = """Sends a message for the user at set times, only when they ask: reminders, regular work.

Args:
    id: As list_schedules shows it.
    message: What is sent.
    at: 2026-12-24T08:00
    cron: Five fields.
    timezone: IANA name.
"""

Action = Literal["create", "pause", "resume", "run", "delete"]
Open = Callable[[], ScheduleEditor]


def schedule_tools(schedules: ScheduleEditor | None) -> tuple[FunctionTool, FunctionTool]:
    """`manage_schedule`, which a person approves unless the policy or a grant says otherwise, and
    `list_schedules`. Without `schedules` they can be looked at, and running them raises errors.ToolError."""

    def opened() -> ScheduleEditor:
        if schedules is None:
            raise ToolError(UNOPENED)
        return schedules

    return _manage(opened), _list(opened)


def changed(
    row: ScheduleRow, action: Literal["created", "paused", "resumed", "run_asked", "deleted"], by: str
):
    """The event of a change that `by` made."""
    due = None if action == "deleted" else row.due_at
    return Schedule(schedule_id=row.id, name=row.name, action=action, next_due_at=due, by=by)


def described(row: ScheduleRow) -> str:
    """A schedule in a line."""
    if row.cron is not None:
        when = f"cron {row.cron} in {row.timezone}"
    elif row.every is not None:
        when = f"every {row.every} s"
    else:
        when = "once"
    state = row.status if row.reason is None else f"{row.status} ({row.reason})"
    where = "a new session each time" if row.session is None else f"session {row.session}"
    return f"[{row.id}] {row.name}: {when}, {state}, next {_shown(row)}, into {where}: {row.message}"


def _manage(opened: Open) -> FunctionTool:
    async def changes(arguments: dict[str, Any], context: ToolContext) -> LastingChange | None:
        action = arguments.get("action")
        if action == "create":
            said = " – ".join(filter(None, (str(arguments.get(name) or "") for name in ("name", "message"))))
            return LastingChange("add", "make a schedule", said)
        try:
            row = await opened().get(context.owner, _bare(str(arguments.get("id") or "")))
        except NotFound:
            return None
        kind = "remove" if action == "delete" else "change"
        return LastingChange(kind, f"{action} a schedule", f"{row.name} – {row.message}", row.id)

    @tool(effect="effectful", timeout=15, name=MANAGE, category="schedules", changes=changes, short=_SHORT)
    async def run(
        action: Action,
        *,
        context: ToolContext,
        id: str | None = None,
        message: Annotated[str | None, Field(max_length=MAX_MESSAGE)] = None,
        name: Annotated[str | None, Field(max_length=MAX_NAME)] = None,
        at: str | None = None,
        every: int | None = None,
        cron: str | None = None,
        timezone: str = "UTC",
        late: Late = "once",
        new_session: bool = False,
        destination: Annotated[str | None, Field(max_length=MAX_DESTINATION)] = None,
    ) -> str:
        """Sends a message for the user at set times: reminders, and work to be done again and again. You
        answer it then as if they had just written it, in this conversation.

        Only when the user asked for it. Find out their time zone first. Write the message in their language,
        so that it says what to do without this conversation.

        Actions: create (message, and one of at, every and cron); pause, resume, run (now, once) and delete
        (id).

        Args:
            action: What to do.
            id: Of the schedule, as list_schedules shows it.
            message: What is sent, such as "Summarise today's calendar." or "提醒我喝水。"
            name: A few words by which the user knows it.
            at: Once, at this date and time: 2026-12-24T08:00, by the clocks of the time zone.
            every: Again and again: seconds between two times, the first one after so long, or at `at`.
            cron: Five fields, minute to day of week, by the clocks of the time zone: "0 8 * * 1-5".
            timezone: An IANA name, such as Europe/Berlin or Asia/Shanghai.
            late: What becomes of times that passed while the gateway was down: skip them, run once for all,
                or run all.
            new_session: Whether each run is a conversation of its own.
            destination: webhook:ID, a webhook of the user that is told how each run ended, if they ask for
                that. They know its id.
        """
        try:
            if action == "create":
                session = None if new_session else context.session_id or None
                new = NewSchedule(message or "", session, name, at, every, cron, timezone, late, destination)
                row = await opened().create(context.owner, new, key_id=context.key_id, scopes=context.scopes)
                context.emit(changed(row, "created", "model"))
                return f"Made {row.id}, {row.name}: due {_shown(row)} for the first time."
            return await _act(opened(), action, id or "", context)
        except RequestRefused as refused:
            raise ToolError(refused.message, code=refused.code, details=refused.details) from None
        except StorageError as error:
            raise ToolError(OUT_OF_REACH, code=error.code, retryable=True) from error

    return run


def _bare(schedule_id: str) -> str:
    """The id as it stands before a line."""
    return schedule_id.strip().removeprefix("[").removesuffix("]")


async def _act(schedules: ScheduleEditor, action: Action, schedule_id: str, context: ToolContext) -> str:
    schedule_id = _bare(schedule_id)
    if not schedule_id:
        raise ToolError(f"id is missing: list_schedules shows which one to {action}.")
    owner = context.owner
    if action == "pause":
        row = await schedules.pause(owner, schedule_id)
        context.emit(changed(row, "paused", "model"))
        return f"Paused {row.name}."
    if action == "resume":
        row = await schedules.resume(owner, schedule_id, key_id=context.key_id)
        context.emit(changed(row, "resumed", "model"))
        return f"{row.name} is due {_shown(row)}."
    if action == "run":
        row = await schedules.run_now(owner, schedule_id, key_id=context.key_id)
        context.emit(changed(row, "run_asked", "model"))
        return f"{row.name} runs now" + (", after this turn." if row.session == context.session_id else ".")
    row = await schedules.delete(owner, schedule_id)
    context.emit(changed(row, "deleted", "model"))
    return f"Deleted {row.name}."


def _list(opened: Open) -> FunctionTool:
    @tool(
        effect="read_only", timeout=15, name=LIST, category="schedules", short="Shows the user's schedules."
    )
    async def run(*, context: ToolContext) -> str:
        """Shows the user's schedules: messages that are sent for them at set times, with their ids."""
        try:
            found: Sequence[ScheduleRow] = await opened().list(context.owner)
        except StorageError as error:
            raise ToolError(OUT_OF_REACH, code=error.code, retryable=True) from error
        return "\n".join(map(described, found)) or "There are none."

    return run


def _shown(row: ScheduleRow) -> str:
    """When it is due next, by the clocks of its zone."""
    if row.due_at is None:
        return "never"
    try:
        clocks = zone(row.timezone)
    except ValueError:
        clocks = zone("UTC")
    return datetime.fromtimestamp(row.due_at / 1000, clocks).isoformat(timespec="minutes")
