"""The URL table. Routing and the OpenAPI document are both made of it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.api import (
    approvals,
    compressions,
    documents,
    health,
    memory,
    memory_copies,
    memory_lookup,
    profiles,
    prompts,
    records,
    sessions,
    skills,
    summaries,
    turns,
)
from gateway.api.approvals import Approval, Approvals, DecisionBody, Grants
from gateway.api.bodies import (
    AcceptedTurn,
    ChatBody,
    EventPage,
    EventsQuery,
    Health,
    Messages,
    RenameBody,
    Session,
    SessionBody,
    SessionDetails,
    SessionPage,
    SessionsQuery,
    SnapshotReply,
    Turn,
    TurnOptions,
)
from gateway.api.compressions import CompressionDetails, CompressionList
from gateway.api.documents import DocumentList, DocumentRow
from gateway.api.memory_bodies import (
    CorrectBody,
    MemoriesQuery,
    MemoryPatch,
    MergeBody,
    NewMemoryBody,
)
from gateway.api.memory_copies import Imported
from gateway.api.memory_lookup import ControlBody, ControlReply, RetrieveBody, Retrieved, WriteBody, Written
from gateway.api.memory_replies import MemoryChanges, MemoryDetails, MemoryItem, MemoryPage
from gateway.api.profiles import ProfileBody, ProfileReply
from gateway.api.prompts import PreviewQuery
from gateway.api.records import Archived, ReplayQuery
from gateway.api.skills import SkillList, SkillRow, SkillsQuery, SwitchBody
from gateway.api.summaries import Summaries, SummariesQuery, Summary, SummaryBody
from gateway.api.uploads import NDJSON
from gateway.prompt.report import PromptPreview, PromptReport

STREAM = "text/event-stream"
Answer = type[BaseModel] | str | None
"""A model is JSON, a string is another media type, None has no body."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path. `answers` are its successes, `refusals` the failures worth telling apart,
    `upload` is the media type of a body that is no JSON."""

    method: str
    path: str
    handler: Callable[[Request], Awaitable[Response]]
    answers: Mapping[int, tuple[Answer, ...]]
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    upload: str | None = None
    refusals: tuple[int, ...] = ()
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def summary(self) -> str:
        return (self.handler.__doc__ or "").strip().partition("\n\n")[0].replace("\n    ", " ")


S = "/api/sessions/{session_id}"
T = S + "/turns/{turn_id}"
A = T + "/approvals/{tool_call_id}"
V = S + "/compressions/{version}"
SUMMARY = "/api/session/summary"
MEMORY = "/api/memory"
M = MEMORY + "/{memory_id}"
PROFILE = "/api/profiles/{kind}/{profile_id}"
VERSION = MappingProxyType({"If-Match": "The ETag that a change expects; absent: any."})
CURSOR = MappingProxyType({"Last-Event-ID": "Cursor; wins over `after`."})

ENDPOINTS = (
    Endpoint(
        "POST",
        "/api/chat",
        turns.chat,
        {200: (STREAM,), 204: (None,)},
        ChatBody,
        refusals=(404, 409, 413, 429, 503),
    ),
    Endpoint("POST", "/api/sessions", sessions.create, {201: (Session,)}, SessionBody, refusals=(409, 413)),
    Endpoint("GET", "/api/sessions", sessions.find, {200: (SessionPage,)}, query=SessionsQuery),
    Endpoint("GET", S, sessions.read, {200: (SessionDetails,)}, refusals=(404,)),
    Endpoint("PATCH", S, sessions.rename, {200: (Session,)}, RenameBody, refusals=(404, 413)),
    Endpoint("DELETE", S, sessions.delete, {204: (None,)}, refusals=(404, 409)),
    Endpoint(
        "POST",
        S + "/turns",
        turns.start,
        {200: (STREAM, AcceptedTurn), 202: (AcceptedTurn,), 204: (None,)},
        TurnOptions,
        refusals=(404, 409, 413, 429, 503),
    ),
    Endpoint("GET", T, turns.read, {200: (Turn,)}, refusals=(404,)),
    Endpoint("POST", T + "/cancel", turns.cancel, {200: (Turn,), 202: (Turn,)}, refusals=(404,)),
    Endpoint("GET", A, approvals.read, {200: (Approval,)}, refusals=(404,)),
    Endpoint("POST", A, approvals.decide, {200: (Approval,)}, DecisionBody, refusals=(404, 409, 413)),
    Endpoint("GET", "/api/approvals", approvals.waiting, {200: (Approvals,)}),
    Endpoint("GET", "/api/grants", approvals.grants, {200: (Grants,)}),
    Endpoint("DELETE", "/api/grants/{tool}", approvals.revoke, {204: (None,)}, refusals=(404,)),
    Endpoint(
        "GET",
        S + "/events",
        sessions.events,
        {200: (STREAM, EventPage), 204: (None,)},
        query=EventsQuery,
        refusals=(404,),
        headers=CURSOR,
    ),
    Endpoint("GET", S + "/messages", sessions.messages, {200: (Messages,)}, refusals=(404,)),
    Endpoint("GET", S + "/snapshot", sessions.snapshot, {200: (SnapshotReply,)}, refusals=(404,)),
    Endpoint(
        "POST", S + "/compress", compressions.compress, {201: (CompressionDetails,)}, refusals=(404, 409, 502)
    ),
    Endpoint("GET", S + "/compressions", compressions.versions, {200: (CompressionList,)}, refusals=(404,)),
    Endpoint("GET", V, compressions.version, {200: (CompressionDetails,)}, refusals=(404,)),
    Endpoint("GET", V + "/archive", compressions.archive, {200: ("application/gzip",)}, refusals=(404, 500)),
    Endpoint("POST", V + "/activate", compressions.activate, {200: (CompressionList,)}, refusals=(404,)),
    Endpoint("POST", SUMMARY, summaries.make, {201: (Summary,)}, SummaryBody, refusals=(404, 409, 502)),
    Endpoint("GET", SUMMARY + "/{session_id}", summaries.read, {200: (Summary,)}, refusals=(404,)),
    Endpoint(
        "GET",
        "/api/session/summaries",
        summaries.find,
        {200: (Summaries,)},
        query=SummariesQuery,
        refusals=(403,),
    ),
    Endpoint(
        "GET",
        S + "/replay",
        records.replay,
        {200: (STREAM,), 204: (None,)},
        query=ReplayQuery,
        refusals=(404,),
        headers=CURSOR,
    ),
    Endpoint("GET", S + "/export", records.export, {200: (NDJSON,)}, refusals=(404, 409)),
    Endpoint(
        "POST",
        "/api/sessions/import",
        records.import_,
        {201: (Session,)},
        upload=NDJSON,
        refusals=(409, 413, 429, 503),
    ),
    Endpoint("POST", S + "/archive", records.archive, {200: (Archived,)}, refusals=(404, 409, 503)),
    Endpoint("GET", "/api/skills", skills.find, {200: (SkillList,)}, query=SkillsQuery),
    Endpoint("POST", "/api/skills/refresh", skills.refresh, {200: (SkillList,)}),
    Endpoint(
        "PATCH",
        "/api/skills/{name}",
        skills.switch,
        {200: (SkillRow,)},
        SwitchBody,
        refusals=(403, 404, 409, 413),
    ),
    Endpoint(
        "POST",
        MEMORY + "/control",
        memory_lookup.control,
        {200: (ControlReply,)},
        ControlBody,
        refusals=(404, 413),
    ),
    Endpoint(
        "POST",
        MEMORY + "/retrieve",
        memory_lookup.retrieve,
        {200: (Retrieved,)},
        RetrieveBody,
        refusals=(404, 413),
    ),
    Endpoint(
        "POST",
        MEMORY + "/write",
        memory_lookup.write,
        {200: (Written,)},
        WriteBody,
        refusals=(404, 409, 413, 429, 502),
    ),
    Endpoint(
        "POST",
        MEMORY + "/correct",
        memory.correct,
        {200: (MemoryChanges,)},
        CorrectBody,
        refusals=(404, 409, 412, 413),
        headers=VERSION,
    ),
    Endpoint(
        "POST",
        MEMORY + "/merge",
        memory.merge,
        {201: (MemoryChanges,)},
        MergeBody,
        refusals=(404, 409, 412, 413),
    ),
    Endpoint("GET", MEMORY + "/export", memory_copies.export, {200: (NDJSON,)}, refusals=(404,)),
    Endpoint(
        "POST",
        MEMORY + "/import",
        memory_copies.import_,
        {200: (Imported,)},
        upload=NDJSON,
        refusals=(404, 409, 413, 429),
    ),
    Endpoint(
        "POST",
        MEMORY,
        memory.create,
        {200: (MemoryItem,), 201: (MemoryItem,)},
        NewMemoryBody,
        refusals=(404, 409, 413),
    ),
    Endpoint("GET", MEMORY, memory.find, {200: (MemoryPage,)}, query=MemoriesQuery, refusals=(404,)),
    Endpoint("GET", M, memory.read, {200: (MemoryDetails,)}, refusals=(404,)),
    Endpoint(
        "PATCH",
        M,
        memory.change,
        {200: (MemoryItem,)},
        MemoryPatch,
        refusals=(404, 409, 412, 413),
        headers=VERSION,
    ),
    Endpoint("DELETE", M, memory.delete, {204: (None,)}, refusals=(404, 412), headers=VERSION),
    Endpoint("POST", M + "/erase", memory.erase, {204: (None,)}, refusals=(404, 412), headers=VERSION),
    Endpoint(
        "POST",
        M + "/confirm",
        memory.confirm,
        {200: (MemoryItem,)},
        refusals=(404, 409, 412),
        headers=VERSION,
    ),
    Endpoint("GET", PROFILE, profiles.read, {200: (ProfileReply,)}, refusals=(404,)),
    Endpoint(
        "PUT",
        PROFILE,
        profiles.put,
        {200: (ProfileReply,)},
        ProfileBody,
        refusals=(404, 412, 413),
        headers=VERSION,
    ),
    Endpoint("GET", "/api/documents", documents.find, {200: (DocumentList,)}, refusals=(404,)),
    Endpoint(
        "POST",
        "/api/documents/{document_id}/deprecate",
        documents.deprecate,
        {200: (DocumentRow,)},
        refusals=(403, 404, 409),
    ),
    Endpoint(
        "POST",
        "/api/documents/{document_id}/restore",
        documents.restore,
        {200: (DocumentRow,)},
        refusals=(403, 404, 409),
    ),
    Endpoint("GET", "/api/prompts", prompts.components, {200: (PromptReport,)}),
    Endpoint(
        "GET",
        "/api/prompts/preview",
        prompts.preview,
        {200: (PromptPreview,)},
        query=PreviewQuery,
        refusals=(404,),
    ),
    Endpoint("GET", "/api/schema/events.json", health.event_schema, {200: ("application/schema+json",)}),
    Endpoint("GET", "/healthz", health.alive, {200: (Health,)}),
    Endpoint("GET", "/readyz", health.ready, {200: (Health,)}, refusals=(503,)),
    Endpoint("GET", "/metrics", health.metrics, {200: ("text/plain", "application/openmetrics-text")}),
)  # fmt: skip - a table is read in rows


def routes() -> list[Route]:
    return [Route(each.path, each.handler, methods=[each.method]) for each in ENDPOINTS]
