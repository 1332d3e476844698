"""What was used in a month, and by whom: of oneself, and for admins of each user."""

import csv
import io
from typing import Annotated, Literal, Self

from pydantic import Field
from starlette.responses import Response

from gateway.api.turn_bodies import LimitReply
from gateway.auth import Principal, tenant_of, user_of
from gateway.http.endpoint import Cost, endpoint
from gateway.http.json_types import Id, Query, Reply, json_reply
from gateway.http.requests import ApiRequest
from gateway.ids import now_ms
from gateway.service.admin_rights import person_of
from gateway.service.usage import Month, MonthUsage
from gateway.storage.turns import UsedIn, UsedTurns
from gateway.storage.users import KnownUser

CSV = "text/csv"
MONTH_PATTERN = r"^20\d\d-(0[1-9]|1[0-2])$"
MAX_USERS = 100
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What makes a formula of a cell, in programs for tables (OWASP, "CSV Injection")."""


class MonthQuery(Query):
    """Which month, and by whose clocks."""

    month: Annotated[str, Field(pattern=MONTH_PATTERN)] | None = Field(
        None, description="As 2026-11; absent: this one."
    )
    timezone: str = Field("UTC", max_length=64, description="IANA name of the zone whose days count.")
    format: Literal["json", "csv"] = Field("json", description="csv: a table by day and model.")


class UserMonthQuery(MonthQuery):
    tenant: Id | None = Field(None, description="The user's; absent: yours. Others need an admin of default.")


class UsersQuery(Query):
    """Which users, and the month of their usage."""

    after: str = Field("", max_length=256, description="The `next` of the page before.")
    limit: int = Field(50, ge=1, le=MAX_USERS)
    month: Annotated[str, Field(pattern=MONTH_PATTERN)] | None = Field(
        None, description="As 2026-11; absent: this one."
    )
    timezone: str = Field("UTC", max_length=64, description="IANA name of the zone whose days count.")


class UsedReply(Reply):
    """What was used. Cost is in US dollars."""

    turns: int = Field(description="Turns that are over; what is done beside them is none.")
    input_tokens: int = Field(description="Those of the prompt cache too.")
    output_tokens: int
    cost: float | None = Field(
        None, description="Of what has a known price; absent: nothing of what was used has one."
    )
    unpriced: int = Field(description="Turns and calls that used tokens of which no price is known.")

    @classmethod
    def of(cls, used: UsedTurns, **more: object) -> Self:
        cost = used.cost if used.cost or not used.unpriced else None
        return cls.from_row(used, cost=cost, **more)


class DayUsed(UsedReply):
    day: str = Field(description="As 2026-11-30.")


class ModelUsed(UsedReply):
    model: str


class SessionUsed(UsedReply):
    session_id: str
    title: str | None = Field(None, description="Absent: it has none, or the chat is another user's.")
    is_own: bool

    @classmethod
    def of_session(cls, each: UsedIn) -> Self:
        return cls.of(each.used, session_id=each.session_id, title=each.title, is_own=each.is_own)


class PurposeUsed(UsedReply):
    purpose: str = Field(
        description="compression, summary, memory, memory_control, artifact_summary or title."
    )


class MonthReply(Reply):
    """A month of a user. What was used beside turns, and in chats that are deleted since, counts to the day
    of UTC; what else, to the day of `timezone`."""

    user_id: str
    month: str
    timezone: str
    since: str | None = Field(None, description="The first month of which something is known.")
    total: UsedReply
    days: list[DayUsed] = Field(description="In their order, those with something.")
    models: list[ModelUsed] = Field(description="Those that cost most first.")
    sessions: list[SessionUsed] = Field(description="The ten that cost most.")
    deleted: UsedReply = Field(description="In chats that are deleted since; a part of the sums.")
    beside: list[PurposeUsed] = Field(description="What was done beside turns; a part of the sums.")
    limits: list[LimitReply] = Field(
        description="Those that hold for the user now (GATEWAY_LIMITS); for admins those that count users."
    )


class UserRow(Reply):
    """A user of whom something is stored, or whom the settings name."""

    user_id: str
    tenant: str
    user: str
    roles: list[str] = Field(description="Of keys that hold, of sign-ins, and of the settings.")
    keys: int = Field(description="Stored keys that hold.")
    seen_at: int | None = Field(None, description="Unix milliseconds; absent: never, as far as is known.")
    used: UsedReply

    @classmethod
    def of(cls, known: KnownUser, used: UsedTurns) -> Self:
        id_ = known.user_id
        return cls.from_row(
            known,
            tenant=tenant_of(id_),
            user=user_of(id_),
            roles=sorted(known.roles),
            used=UsedReply.of(used),
        )


class UserList(Reply):
    """Users in the order of their ids, with what they used in the month."""

    month: str
    users: list[UserRow]
    next: str | None = Field(None, description="Cursor of the next page; absent on the last one.")


@endpoint(
    "GET", "/api/usage/month", "usage.read", {200: (MonthReply, CSV)}, query=MonthQuery, cost=Cost("search")
)
async def own_month(request: ApiRequest) -> Response:
    """What you used in a month: by day, model and chat, and how your limits stand."""
    return await _month(request, request.principal, await request.read_query(MonthQuery))


@endpoint(
    "GET",
    "/api/users/{user}/usage",
    "other_person.read_usage",
    {200: (MonthReply, CSV)},
    query=UserMonthQuery,
    refusals=(403,),
    cost=Cost("search"),
)
async def month_of_user(request: ApiRequest) -> Response:
    """What a user used in a month, for admins."""
    asked = await request.read_query(UserMonthQuery)
    user_id = person_of(request.principal, request.path_text("user"), asked.tenant)
    return await _month(request, Principal(user_id), asked)


@endpoint(
    "GET",
    "/api/users",
    "user.list",
    {200: (UserList,)},
    query=UsersQuery,
    refusals=(403,),
    cost=Cost("search"),
)
async def find_users(request: ApiRequest) -> Response:
    """Users of your tenant, or of all tenants for the operator: when they were here last, their roles, and
    what they used in a month."""
    asked = await request.read_query(UsersQuery)
    month = Month.named(asked.month, asked.timezone, now_ms())
    found = await request.gateway.usage.users(
        request.principal, month, after=asked.after, limit=asked.limit + 1
    )
    page = found[: asked.limit]
    return json_reply(
        UserList(
            month=month.name,
            users=[UserRow.of(known, used) for known, used in page],
            next=page[-1][0].user_id if len(found) > asked.limit else None,
        )
    )


async def _month(request: ApiRequest, who: Principal, asked: MonthQuery) -> Response:
    month = Month.named(asked.month, asked.timezone, now_ms())
    found = await request.gateway.usage.of_month(who.user_id, month)
    if asked.format == "csv":
        name = f"usage-{user_of(who.user_id)}-{month.name}.csv"
        headers = {"cache-control": "no-store", "content-disposition": f'attachment; filename="{name}"'}
        return Response(_table(found), headers=headers, media_type=CSV)
    standings = await request.gateway.limits.standings(who)
    models = sorted(found.by_model.items(), key=lambda each: (-each[1].cost, each[0]))
    reply = MonthReply(
        user_id=who.user_id,
        month=month.name,
        timezone=month.timezone,
        since=found.since,
        total=UsedReply.of(found.total),
        days=[DayUsed.of(used, day=day) for day, used in found.by_day.items()],
        models=[ModelUsed.of(used, model=model) for model, used in models],
        sessions=[SessionUsed.of_session(each) for each in found.sessions],
        deleted=UsedReply.of(found.deleted),
        beside=[PurposeUsed.of(used, purpose=name) for name, used in sorted(found.beside.items())],
        limits=[LimitReply.of(standing) for standing in standings],
    )
    return json_reply(reply)


def _table(found: MonthUsage) -> str:
    """By day and model, as a table. A cost that is not known is an empty cell."""
    written = io.StringIO()
    table = csv.writer(written)
    table.writerow(("day", "model", "turns", "input_tokens", "output_tokens", "cost_usd", "unpriced"))
    for (day, model), used in sorted(found.by_day_and_model.items()):
        cost = "" if used.unpriced and not used.cost else f"{used.cost:.6f}"
        cell = f"'{model}" if model.startswith(_FORMULA) else model
        table.writerow((day, cell, used.turns, used.input_tokens, used.output_tokens, cost, used.unpriced))
    return written.getvalue()
