"""Whole persons: their data as a file, their erasure, and legal holds, which stop it."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator
from starlette.responses import Response

from gateway.auth import user_id_of
from gateway.errors import InvalidRequest
from gateway.http.downloads import Download
from gateway.http.endpoint import Cost, endpoint
from gateway.http.json_types import Body, Prose, Query, Reply, SessionId, json_reply, not_blank
from gateway.http.requests import ApiRequest
from gateway.ids import ID_PATTERN, USER_PATTERN, is_user
from gateway.service.personal_data import PersonalData
from gateway.storage.holds import Hold, HoldKind
from gateway.storage.persons import Erasure, ErasureState

ZIP = "application/zip"
Id = Annotated[str, Field(pattern=ID_PATTERN)]
UserName = Annotated[str, Field(pattern=USER_PATTERN)]


class TenantQuery(Query):
    tenant: Id | None = Field(None, description="The user's; absent: yours. Others need an admin of default.")


class ErasureBody(Body):
    """What is erased cannot be had back."""

    confirm: str = Field(
        min_length=1, max_length=256, description="The id of the user who is erased, typed once more."
    )


class KeptReply(Reply):
    what: str
    count: int | None = Field(None, description="Absent: unknown.")
    why: str


class ErasureReply(Reply):
    """How far the erasure of a person is, and in the end the report. Times are Unix milliseconds."""

    id: str
    tenant: str
    person: str = Field(description="The user's id, and the pseudonym in its place once all is gone.")
    requested_by: str
    requested_at: int
    state: ErasureState = Field(description="held: a legal hold was placed meanwhile.")
    step: str
    waits_for: str | None = Field(None, description="Why it does not go on; it is tried again by itself.")
    found: dict[str, int] | None = Field(
        None,
        description="How many there were of each kind when it began; done: gone, but for what is kept.",
    )
    kept: list[KeptReply] = Field(description="What stays, and why.")
    finished_at: int | None = None

    @classmethod
    def of(cls, erasure: Erasure) -> Self:
        kept = [KeptReply(what=each.what, count=each.count, why=each.why) for each in erasure.kept]
        return cls.from_row(erasure, kept=kept)


class HoldBody(Body):
    """A user or a session of which nothing is to be deleted."""

    user: UserName | None = None
    session_id: SessionId | None = None
    tenant: Id | None = Field(None, description="The user's; absent: yours. Others need an admin of default.")
    reason: Annotated[Prose, AfterValidator(not_blank)] = Field(
        min_length=1, max_length=1000, description="For admins alone."
    )

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if (self.user is None) == (self.session_id is None):
            raise ValueError("must have user or session_id")
        return self


class HoldReply(Reply):
    id: str
    kind: HoldKind
    subject_id: str = Field(description="The user or the session.")
    owner: str = Field(description="The user.")
    tenant: str
    reason: str
    placed_by: str
    placed_at: int = Field(description="Unix milliseconds.")

    @classmethod
    def of(cls, hold: Hold) -> Self:
        return cls.from_row(hold)


class HoldList(Reply):
    """The oldest first."""

    holds: list[HoldReply]


def _data(request: ApiRequest) -> PersonalData:
    return request.app.state.personal_data


async def _user(request: ApiRequest) -> str:
    """The id of the user that the path names."""
    user = request.path_text("user")
    if not is_user(user):
        raise InvalidRequest("user must be 1 to 160 letters, digits, '_', '-' or '.'.")
    user_id = _data(request).named(request.principal, user, (await request.read_query(TenantQuery)).tenant)
    request.concerns("person", user_id)
    return user_id


def _file(request: ApiRequest, user_id: str) -> Response:
    return Download(
        _data(request).export(user_id),
        name=f"{user_id.rpartition('/')[2]}.zip",
        media_type=ZIP,
        send_timeout=request.settings.send_timeout,
    )


@endpoint("GET", "/api/me/export", "person.export", {200: (ZIP,)}, cost=Cost("copy"))
async def export_own(request: ApiRequest) -> Response:
    """Everything about you in one zip archive: sessions, memories, artifacts, schedules, webhooks, keys, what
    you used, and what the audit has of you. Its `manifest.json` comes last; nothing secret is in it."""
    request.concerns("person", request.principal.user_id)
    return _file(request, request.principal.user_id)


@endpoint(
    "GET",
    "/api/users/{user}/export",
    "other_person.export",
    {200: (ZIP,)},
    query=TenantQuery,
    refusals=(403,),
    cost=Cost("copy"),
)
async def export(request: ApiRequest) -> Response:
    """Everything about a user of your tenant in one zip archive; for admins."""
    return _file(request, await _user(request))


@endpoint("POST", "/api/me/erasure", "person.erase", {202: (ErasureReply,)}, ErasureBody, refusals=(409, 413))
async def erase_own(request: ApiRequest) -> Response:
    """Has everything about you erased, for good. You are refused until it is done; then the report can be
    read here. Confirm it with your own user id."""
    who = request.principal
    request.concerns("person", who.user_id)
    asked = await request.read_body(ErasureBody)
    request.outlives_access()
    return json_reply(ErasureReply.of(await _data(request).erase(who, who.user_id, asked.confirm)), 202)


@endpoint("GET", "/api/me/erasure", "person.read_erasure", {200: (ErasureReply,)}, refusals=(404,))
async def own_erasure(request: ApiRequest) -> Response:
    """How far your erasure is, or its report."""
    request.outlives_access()
    return json_reply(ErasureReply.of(await _data(request).erasure(request.principal.user_id)))


@endpoint(
    "POST",
    "/api/users/{user}/erasure",
    "other_person.erase",
    {202: (ErasureReply,)},
    ErasureBody,
    query=TenantQuery,
    refusals=(403, 409, 413),
)
async def erase(request: ApiRequest) -> Response:
    """Has everything about a user of your tenant erased, for good; for admins. Repeated, it is the erasure
    that is under way."""
    user_id = await _user(request)
    asked = await request.read_body(ErasureBody)
    request.outlives_access()
    erasure = await _data(request).erase(request.principal, user_id, asked.confirm)
    return json_reply(ErasureReply.of(erasure), 202)


@endpoint(
    "GET",
    "/api/users/{user}/erasure",
    "other_person.read_erasure",
    {200: (ErasureReply,)},
    query=TenantQuery,
    refusals=(403, 404),
)
async def erasure(request: ApiRequest) -> Response:
    """How far the erasure of a user is, or its report; for admins."""
    return json_reply(ErasureReply.of(await _data(request).erasure(await _user(request))))


@endpoint("POST", "/api/holds", "hold.create", {201: (HoldReply,)}, HoldBody, refusals=(403, 404, 409, 413))
async def place_hold(request: ApiRequest) -> Response:
    """Keeps all of a user, or one session, from being deleted by anybody: 409 `legal_hold` until it is
    lifted. An erasure that runs stops at its next step, and goes on when the last hold is lifted; what it has
    erased is gone. For admins."""
    asked, who = await request.read_body(HoldBody), request.principal
    user_id = user_id_of(asked.tenant or who.tenant, asked.user) if asked.user else None
    subject = ("session", asked.session_id) if asked.session_id else ("person", user_id)
    request.concerns(subject[0], str(subject[1]))
    hold = await request.gateway.holds.place(who, asked.reason, user_id=user_id, session_id=asked.session_id)
    return json_reply(HoldReply.of(hold), 201, headers={"location": f"/api/holds/{hold.id}"})


@endpoint("GET", "/api/holds", "hold.list", {200: (HoldList,)}, refusals=(403,))
async def find_holds(request: ApiRequest) -> Response:
    """The legal holds of your tenant, or of all; for admins."""
    found = await request.gateway.holds.list(request.principal)
    return json_reply(HoldList(holds=[HoldReply.of(each) for each in found]))


@endpoint("DELETE", "/api/holds/{hold_id}", "hold.lift", {204: (None,)}, refusals=(403, 404))
async def lift_hold(request: ApiRequest) -> Response:
    """Ends a legal hold; for admins."""
    hold = await request.gateway.holds.lift(request.principal, request.path_id("hold_id"))
    request.concerns("session" if hold.kind == "session" else "person", hold.subject_id)
    return Response(status_code=204)
