"""The URL table of our own routes. Routing and the OpenAPI document are both made of it."""

from types import MappingProxyType

from gateway.api import approvals_routes as approvals
from gateway.api import artifacts_routes as artifacts
from gateway.api import audit_routes as audit
from gateway.api import branches_routes as branches
from gateway.api import compressions_routes as compressions
from gateway.api import health_routes as health
from gateway.api import prompts_routes as prompts
from gateway.api import replay_export_import_routes as records
from gateway.api import schedules_routes as schedules
from gateway.api import sessions_routes as sessions
from gateway.api import skills_routes as skills
from gateway.api import summaries_routes as summaries
from gateway.api import tool_results_routes as tool_results
from gateway.api import turns_routes as turns
from gateway.api import webhooks_routes as webhooks
from gateway.api.access_url_table import ACCESS
from gateway.api.approvals_routes import Approval, ApprovalsReply, DecisionBody, Grants
from gateway.api.artifact_bodies import (
    ArtifactBody,
    ArtifactCompact,
    ArtifactPage,
    ArtifactPart,
    ArtifactsQuery,
    PartQuery,
    UploadQuery,
)
from gateway.api.audit_routes import AuditPage, AuditPageQuery, AuditQuery
from gateway.api.branches_routes import BranchList
from gateway.api.compressions_routes import CompressionDetails, CompressionList
from gateway.api.health_routes import Caller, Health
from gateway.api.memory_url_table import MEMORIES
from gateway.api.persons_url_table import PERSONS
from gateway.api.prompts_routes import EditsBody, PreviewQuery
from gateway.api.replay_export_import_routes import Archived, ExportQuery, ImportedSessions, ReplayQuery
from gateway.api.schedules_routes import (
    ScheduleBody,
    ScheduleChanges,
    ScheduleDetails,
    ScheduleList,
    SchedulePreview,
    ScheduleReply,
    TimingBody,
)
from gateway.api.session_bodies import (
    BranchQuery,
    CursorQuery,
    EventPage,
    EventsQuery,
    Messages,
    Session,
    SessionBody,
    SessionChanges,
    SessionDetails,
    SessionPage,
    SessionsQuery,
    SnapshotReply,
)
from gateway.api.skills_routes import SkillList, SkillRow, SkillsQuery, SwitchBody
from gateway.api.summaries_routes import SummariesQuery, SummariesReply, Summary, SummaryBody
from gateway.api.tool_results_routes import ToolResultBody, ToolResultReply
from gateway.api.turn_bodies import (
    AcceptedTurn,
    ChatBody,
    FeedbackBody,
    RegenerateBody,
    ReleaseBody,
    Turn,
    TurnOptions,
    TurnPage,
    TurnsQuery,
    UsageQuery,
    UsageReply,
)
from gateway.api.webhooks_routes import (
    DeliveriesQuery,
    DeliveryList,
    NewWebhook,
    ReplayBody,
    Replayed,
    WebhookBody,
    WebhookChanges,
    WebhookList,
    WebhookReply,
    WebhookTest,
)
from gateway.http.endpoint import OPEN, READS, STREAM, Cost, Endpoint
from gateway.http.requests import NDJSON
from gateway.prompt.prompt_report import PromptPreview, PromptReport
from gateway.prompt.sent_report import SentPrompt

S = "/api/sessions/{session_id}"
T = S + "/turns/{turn_id}"
TURN = "/api/turns/{turn_id}"
A = T + "/approvals/{tool_call_id}"
V = S + "/compressions/{version}"
B = S + "/branches/{branch}"
SUMMARY = "/api/session/summary"
SCHEDULES = "/api/schedules"
SCHEDULE = SCHEDULES + "/{schedule_id}"
ARTIFACTS = "/api/artifacts"
ARTIFACT = ARTIFACTS + "/{ref}"
W = "/api/webhooks/{webhook_id}"
ANYTHING = "application/octet-stream"
CURSOR = MappingProxyType({"Last-Event-ID": "Cursor; wins over `after`."})
KNOWN = MappingProxyType({"If-None-Match": "ETags that are known: 304 when the answer has one of them."})
RANGE = MappingProxyType(
    {
        "Range": "One range of bytes of the content, such as `bytes=0-1023`: 206.",
        "If-Range": "The ETag of the content that the range goes on with; another: all of it.",
        "If-None-Match": "ETags that are known: 304 when the content has one of them.",
    }
)

ENDPOINTS = (
    Endpoint(
        "POST",
        "/api/chat",
        "chat",
        turns.chat,
        {200: (STREAM,), 204: (None,)},
        ChatBody,
        query=CursorQuery,
        refusals=(404, 409, 413, 429, 503),
        headers=CURSOR,
        action="turn.start",
    ),
    Endpoint(
        "POST",
        "/api/sessions",
        "chat",
        sessions.create,
        {201: (Session,)},
        SessionBody,
        refusals=(404, 409, 413, 503),
        action="session.create",
    ),
    Endpoint(
        "GET",
        "/api/sessions",
        "read",
        sessions.find,
        {200: (SessionPage,), 304: (None,)},
        query=SessionsQuery,
        headers=KNOWN,
        cost=Cost("search", only_with=("q",)),
    ),
    Endpoint("GET", S, "read", sessions.read, {200: (SessionDetails,)}, refusals=(404,)),
    Endpoint(
        "PATCH",
        S,
        "chat",
        sessions.change,
        {200: (Session,)},
        SessionChanges,
        refusals=(404, 409, 413),
        action="session.change",
    ),
    Endpoint(
        "DELETE", S, "chat", sessions.delete, {204: (None,)}, refusals=(404, 409), action="session.delete"
    ),
    Endpoint(
        "POST",
        S + "/turns",
        "chat",
        turns.start,
        {200: (STREAM, AcceptedTurn), 202: (AcceptedTurn,), 204: (None,)},
        TurnOptions,
        query=CursorQuery,
        refusals=(404, 409, 413, 429, 503),
        headers=CURSOR,
        action="turn.start",
    ),
    Endpoint(
        "POST",
        T + "/regenerate",
        "chat",
        turns.regenerate,
        {200: (STREAM, AcceptedTurn), 202: (AcceptedTurn,), 204: (None,)},
        RegenerateBody,
        query=CursorQuery,
        refusals=(404, 409, 413, 429, 503),
        headers=CURSOR,
        action="turn.regenerate",
    ),
    Endpoint("GET", S + "/branches", "read", branches.find, {200: (BranchList,)}, refusals=(404,)),
    Endpoint(
        "POST",
        B + "/activate",
        "chat",
        branches.activate,
        {200: (BranchList,)},
        refusals=(404, 409),
        action="branch.activate",
    ),
    Endpoint("GET", T, "read", turns.read, {200: (Turn,)}, refusals=(404,)),
    Endpoint(
        "POST",
        T + "/cancel",
        "chat",
        turns.cancel,
        {200: (Turn,), 202: (Turn,)},
        refusals=(404,),
        action="turn.cancel",
    ),
    Endpoint(
        "POST",
        T + "/release",
        "chat",
        turns.release,
        {200: (Turn,), 202: (Turn,)},
        ReleaseBody,
        refusals=(404, 413),
        action="turn.release",
    ),
    Endpoint(
        "POST",
        T + "/feedback",
        "chat",
        turns.rate,
        {200: (Turn,)},
        FeedbackBody,
        refusals=(404, 409, 413),
        action="turn.rate",
    ),
    Endpoint("GET", "/api/turns", "read", turns.find, {200: (TurnPage,)}, query=TurnsQuery),
    Endpoint(
        "GET",
        "/api/usage",
        "read",
        turns.usage,
        {200: (UsageReply,)},
        query=UsageQuery,
        cost=Cost("search"),
    ),
    Endpoint("GET", TURN, "read", turns.read_any, {200: (Turn,)}, refusals=(404,)),
    Endpoint(
        "POST",
        TURN + "/cancel",
        "chat",
        turns.cancel_any,
        {200: (Turn,), 202: (Turn,)},
        refusals=(404,),
        action="turn.cancel",
    ),
    Endpoint("GET", A, "read", approvals.read, {200: (Approval,)}, refusals=(404,)),
    Endpoint(
        "POST",
        A,
        "chat",
        approvals.decide,
        {200: (Approval,)},
        DecisionBody,
        refusals=(404, 409, 413),
        action="approval.decide",
    ),
    Endpoint(
        "POST",
        T + "/tool_results/{tool_call_id}",
        "chat",
        tool_results.give,
        {200: (ToolResultReply,)},
        ToolResultBody,
        refusals=(404, 409, 413, 429),
        action="tool_result.give",
    ),
    Endpoint("GET", "/api/approvals", "read", approvals.waiting, {200: (ApprovalsReply,)}),
    Endpoint("GET", "/api/grants", "read", approvals.grants, {200: (Grants,)}),
    Endpoint(
        "DELETE",
        "/api/grants/{tool}",
        "chat",
        approvals.revoke,
        {204: (None,)},
        refusals=(404,),
        action="grant.revoke",
    ),
    Endpoint(
        "GET",
        S + "/events",
        "read",
        sessions.events,
        {200: (STREAM, EventPage), 204: (None,)},
        query=EventsQuery,
        refusals=(404,),
        headers=CURSOR,
    ),
    Endpoint(
        "GET",
        S + "/messages",
        "read",
        sessions.messages,
        {200: (Messages,)},
        query=BranchQuery,
        refusals=(404,),
    ),
    Endpoint("GET", S + "/snapshot", "read", sessions.snapshot, {200: (SnapshotReply,)}, refusals=(404,)),
    Endpoint(
        "POST",
        S + "/compress",
        "chat",
        compressions.compress,
        {201: (CompressionDetails,)},
        refusals=(404, 409, 502),
        action="session.compress",
        cost=Cost("model"),
    ),
    Endpoint(
        "GET", S + "/compressions", "read", compressions.versions, {200: (CompressionList,)}, refusals=(404,)
    ),
    Endpoint("GET", V, "read", compressions.version, {200: (CompressionDetails,)}, refusals=(404,)),
    Endpoint(
        "GET",
        V + "/archive",
        "read",
        compressions.archive,
        {200: ("application/gzip",)},
        refusals=(404, 500),
        action="session.download_archive",
        cost=Cost("copy"),
    ),
    Endpoint(
        "POST",
        V + "/activate",
        "chat",
        compressions.activate,
        {200: (CompressionList,)},
        refusals=(404, 409),
        action="compression.activate",
    ),
    Endpoint(
        "POST",
        SUMMARY,
        "chat",
        summaries.make,
        {201: (Summary,)},
        SummaryBody,
        refusals=(404, 409, 502),
        action="summary.make",
        cost=Cost("model"),
    ),
    Endpoint("GET", SUMMARY + "/{session_id}", "read", summaries.read, {200: (Summary,)}, refusals=(404,)),
    Endpoint(
        "GET",
        "/api/session/summaries",
        "read",
        summaries.find,
        {200: (SummariesReply,)},
        query=SummariesQuery,
        refusals=(403,),
    ),
    Endpoint(
        "GET",
        S + "/replay",
        "read",
        records.replay,
        {200: (STREAM,), 204: (None,)},
        query=ReplayQuery,
        refusals=(404,),
        headers=CURSOR,
    ),
    Endpoint(
        "GET",
        S + "/export",
        "read",
        records.export,
        {200: (NDJSON, "text/markdown", "text/html")},
        query=ExportQuery,
        refusals=(404, 409),
        action="session.export",
        cost=Cost("copy"),
    ),
    Endpoint(
        "POST",
        "/api/sessions/import",
        "chat",
        records.import_,
        {201: (Session,)},
        upload=NDJSON,
        refusals=(409, 413, 429, 503),
        action="session.import",
        cost=Cost("import"),
    ),
    Endpoint(
        "GET",
        "/api/export",
        "read",
        records.export_all,
        {200: (NDJSON,)},
        action="session.export_all",
        cost=Cost("copy"),
    ),
    Endpoint(
        "POST",
        "/api/import",
        "chat",
        records.import_all,
        {200: (ImportedSessions,)},
        upload=NDJSON,
        refusals=(413, 503),
        action="session.import_all",
        cost=Cost("import"),
    ),
    Endpoint(
        "POST",
        S + "/archive",
        "chat",
        records.archive,
        {200: (Archived,)},
        refusals=(404, 409, 503),
        action="session.archive",
        cost=Cost("copy"),
    ),
    Endpoint("GET", "/api/skills", "read", skills.find, {200: (SkillList,)}, query=SkillsQuery),
    Endpoint(
        "POST",
        "/api/skills/refresh",
        "chat",
        skills.refresh,
        {200: (SkillList,)},
        action="skill.refresh",
        cost=Cost("assemble"),
    ),
    Endpoint(
        "PATCH",
        "/api/skills/{name}",
        "admin",
        skills.switch,
        {200: (SkillRow,)},
        SwitchBody,
        refusals=(403, 404, 409, 413),
        action="skill.switch",
    ),
    *MEMORIES,
    *ACCESS,
    *PERSONS,
    Endpoint(
        "POST",
        ARTIFACTS,
        "artifacts",
        artifacts.keep,
        {201: (ArtifactCompact,)},
        ArtifactBody,
        query=UploadQuery,
        upload="application/octet-stream",
        refusals=(404, 409, 413, 429, 503),
        action="artifact.keep",
    ),
    Endpoint(
        "GET",
        ARTIFACTS,
        "read",
        artifacts.find,
        {200: (ArtifactPage,)},
        query=ArtifactsQuery,
        refusals=(404,),
    ),
    Endpoint(
        "GET",
        ARTIFACT,
        "read",
        artifacts.read,
        {200: (ANYTHING, ArtifactPart), 206: (ANYTHING,), 304: (None,)},
        query=PartQuery,
        refusals=(404, 416, 429, 500),
        headers=RANGE,
        cost=Cost("extract", only_with=("lines", "bytes", "json_path", "search")),
    ),
    Endpoint(
        "GET", ARTIFACT + "/compact", "read", artifacts.compact, {200: (ArtifactCompact,)}, refusals=(404,)
    ),
    Endpoint(
        "DELETE",
        ARTIFACT,
        "artifacts",
        artifacts.delete,
        {204: (None,)},
        refusals=(404,),
        action="artifact.delete",
    ),
    Endpoint(
        "POST",
        SCHEDULES,
        "chat",
        schedules.create,
        {201: (ScheduleReply,)},
        ScheduleBody,
        refusals=(404, 409, 413),
        action="schedule.create",
    ),
    Endpoint(
        "POST",
        SCHEDULES + "/preview",
        "chat",
        schedules.preview,
        {200: (SchedulePreview,)},
        TimingBody,
        refusals=(413,),
        action=READS,
    ),
    Endpoint("GET", SCHEDULES, "read", schedules.find, {200: (ScheduleList,)}),
    Endpoint("GET", SCHEDULE, "read", schedules.read, {200: (ScheduleDetails,)}, refusals=(404,)),
    Endpoint(
        "PATCH",
        SCHEDULE,
        "chat",
        schedules.change,
        {200: (ScheduleReply,)},
        ScheduleChanges,
        refusals=(404, 409, 413),
        action="schedule.change",
    ),
    Endpoint(
        "DELETE",
        SCHEDULE,
        "chat",
        schedules.delete,
        {204: (None,)},
        refusals=(404,),
        action="schedule.delete",
    ),
    Endpoint(
        "POST",
        SCHEDULE + "/run",
        "chat",
        schedules.run,
        {202: (ScheduleReply,)},
        refusals=(404, 409),
        action="schedule.run",
    ),
    Endpoint(
        "POST",
        "/api/webhooks",
        "chat",
        webhooks.add,
        {201: (NewWebhook,)},
        WebhookBody,
        refusals=(409, 413),
        action="webhook.add",
    ),
    Endpoint("GET", "/api/webhooks", "read", webhooks.find, {200: (WebhookList,)}),
    Endpoint("GET", W, "read", webhooks.read, {200: (WebhookReply,)}, refusals=(404,)),
    Endpoint(
        "PATCH",
        W,
        "chat",
        webhooks.change,
        {200: (WebhookReply,)},
        WebhookChanges,
        refusals=(404, 413),
        action="webhook.change",
    ),
    Endpoint("DELETE", W, "chat", webhooks.delete, {204: (None,)}, refusals=(404,), action="webhook.delete"),
    Endpoint(
        "POST",
        W + "/test",
        "chat",
        webhooks.test,
        {200: (WebhookTest,)},
        refusals=(404,),
        action="webhook.test",
        cost=Cost("deliver"),
    ),
    Endpoint(
        "GET",
        W + "/deliveries",
        "read",
        webhooks.deliveries,
        {200: (DeliveryList,)},
        query=DeliveriesQuery,
        refusals=(404,),
    ),
    Endpoint(
        "POST",
        W + "/replay",
        "chat",
        webhooks.replay,
        {200: (Replayed,)},
        ReplayBody,
        refusals=(404, 413),
        action="webhook.replay",
        cost=Cost("deliver"),
    ),
    Endpoint("GET", "/api/audit", "admin", audit.find, {200: (AuditPage,)}, query=AuditPageQuery),
    Endpoint(
        "GET",
        "/api/audit/export",
        "admin",
        audit.export,
        {200: (NDJSON,)},
        query=AuditQuery,
        action="audit.export",
        cost=Cost("copy"),
    ),
    Endpoint("GET", "/api/prompts", "read", prompts.components, {200: (PromptReport,)}),
    Endpoint(
        "POST",
        "/api/prompts/preview",
        "admin",
        prompts.preview_edits,
        {200: (PromptPreview,)},
        EditsBody,
        refusals=(403, 404, 413),
        action=READS,
        cost=Cost("assemble"),
    ),
    Endpoint(
        "GET",
        "/api/prompts/preview",
        "read",
        prompts.preview,
        {200: (PromptPreview,)},
        query=PreviewQuery,
        refusals=(404,),
        cost=Cost("assemble"),
    ),
    Endpoint(
        "GET",
        T + "/prompt",
        "read",
        prompts.sent,
        {200: (SentPrompt,)},
        refusals=(404, 500),
        cost=Cost("assemble"),
    ),
    Endpoint("GET", "/api/me", "read", health.me, {200: (Caller,)}),
    Endpoint(
        "GET", "/api/schema/events.json", OPEN, health.event_schema, {200: ("application/schema+json",)}
    ),
    Endpoint("GET", "/healthz", OPEN, health.alive, {200: (Health,)}),
    Endpoint("GET", "/readyz", OPEN, health.ready, {200: (Health,)}, refusals=(503,)),
    Endpoint(
        "GET", "/metrics", "metrics", health.metrics, {200: ("text/plain", "application/openmetrics-text")}
    ),
)  # fmt: skip - a table is read in rows
