"""The URL table of our own routes. Routing and the OpenAPI document are both made of it."""

from types import MappingProxyType

from gateway.api import approvals_routes as approvals
from gateway.api import artifacts_routes as artifacts
from gateway.api import audit_routes as audit
from gateway.api import branches_routes as branches
from gateway.api import compressions_routes as compressions
from gateway.api import foreign_chats_routes as foreign_chats
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
from gateway.api.admin_url_table import ADMIN
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
from gateway.api.choosable_models_routes import ChoosableModels, choosable_models
from gateway.api.compressions_routes import CompressionDetails, CompressionList
from gateway.api.foreign_chats_routes import ForeignChatsQuery
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
from gateway.api.shared_links_url_table import SHARED_LINKS
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
from gateway.http.endpoint import STREAM, Cost, Endpoint
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
        "turn.start",
        turns.chat,
        {200: (STREAM,), 204: (None,)},
        ChatBody,
        query=CursorQuery,
        refusals=(404, 409, 413, 429, 503),
        headers=CURSOR,
    ),
    Endpoint(
        "POST",
        "/api/sessions",
        "session.create",
        sessions.create,
        {201: (Session,)},
        SessionBody,
        refusals=(404, 409, 413, 503),
    ),
    Endpoint(
        "GET",
        "/api/sessions",
        "session.list",
        sessions.find,
        {200: (SessionPage,), 304: (None,)},
        query=SessionsQuery,
        headers=KNOWN,
        cost=Cost("search", only_with=("q",)),
    ),
    Endpoint("GET", S, "session.read", sessions.read, {200: (SessionDetails,)}, refusals=(404,)),
    Endpoint(
        "PATCH",
        S,
        "session.change",
        sessions.change,
        {200: (Session,)},
        SessionChanges,
        refusals=(404, 409, 413),
    ),
    Endpoint("DELETE", S, "session.delete", sessions.delete, {204: (None,)}, refusals=(404, 409)),
    Endpoint(
        "POST",
        S + "/turns",
        "turn.start",
        turns.start,
        {200: (STREAM, AcceptedTurn), 202: (AcceptedTurn,), 204: (None,)},
        TurnOptions,
        query=CursorQuery,
        refusals=(404, 409, 413, 429, 503),
        headers=CURSOR,
    ),
    Endpoint(
        "POST",
        T + "/regenerate",
        "turn.regenerate",
        turns.regenerate,
        {200: (STREAM, AcceptedTurn), 202: (AcceptedTurn,), 204: (None,)},
        RegenerateBody,
        query=CursorQuery,
        refusals=(404, 409, 413, 429, 503),
        headers=CURSOR,
    ),
    Endpoint("GET", S + "/branches", "branch.list", branches.find, {200: (BranchList,)}, refusals=(404,)),
    Endpoint(
        "POST",
        B + "/activate",
        "branch.activate",
        branches.activate,
        {200: (BranchList,)},
        refusals=(404, 409),
    ),
    Endpoint("GET", T, "turn.read", turns.read, {200: (Turn,)}, refusals=(404,)),
    Endpoint(
        "POST",
        T + "/cancel",
        "turn.cancel",
        turns.cancel,
        {200: (Turn,), 202: (Turn,)},
        refusals=(404,),
    ),
    Endpoint(
        "POST",
        T + "/release",
        "turn.release",
        turns.release,
        {200: (Turn,), 202: (Turn,)},
        ReleaseBody,
        refusals=(404, 413),
    ),
    Endpoint(
        "POST",
        T + "/feedback",
        "turn.rate",
        turns.rate,
        {200: (Turn,)},
        FeedbackBody,
        refusals=(404, 409, 413),
    ),
    Endpoint("GET", "/api/turns", "turn.list", turns.find, {200: (TurnPage,)}, query=TurnsQuery),
    Endpoint(
        "GET",
        "/api/usage",
        "usage.read",
        turns.usage,
        {200: (UsageReply,)},
        query=UsageQuery,
        cost=Cost("search"),
    ),
    Endpoint("GET", TURN, "turn.read", turns.read_any, {200: (Turn,)}, refusals=(404,)),
    Endpoint(
        "POST",
        TURN + "/cancel",
        "turn.cancel",
        turns.cancel_any,
        {200: (Turn,), 202: (Turn,)},
        refusals=(404,),
    ),
    Endpoint("GET", A, "approval.read", approvals.read, {200: (Approval,)}, refusals=(404,)),
    Endpoint(
        "POST",
        A,
        "approval.decide",
        approvals.decide,
        {200: (Approval,)},
        DecisionBody,
        refusals=(404, 409, 413),
    ),
    Endpoint(
        "POST",
        T + "/tool_results/{tool_call_id}",
        "tool_result.give",
        tool_results.give,
        {200: (ToolResultReply,)},
        ToolResultBody,
        refusals=(404, 409, 413, 429),
    ),
    Endpoint("GET", "/api/approvals", "approval.list", approvals.waiting, {200: (ApprovalsReply,)}),
    Endpoint("GET", "/api/grants", "grant.list", approvals.grants, {200: (Grants,)}),
    Endpoint(
        "DELETE",
        "/api/grants/{tool}",
        "grant.revoke",
        approvals.revoke,
        {204: (None,)},
        refusals=(404,),
    ),
    Endpoint(
        "GET",
        S + "/events",
        "event.read",
        sessions.events,
        {200: (STREAM, EventPage), 204: (None,)},
        query=EventsQuery,
        refusals=(404,),
        headers=CURSOR,
    ),
    Endpoint(
        "GET",
        S + "/messages",
        "message.list",
        sessions.messages,
        {200: (Messages,)},
        query=BranchQuery,
        refusals=(404,),
    ),
    Endpoint(
        "GET",
        S + "/snapshot",
        "session.read_snapshot",
        sessions.snapshot,
        {200: (SnapshotReply,)},
        refusals=(404,),
    ),
    Endpoint(
        "POST",
        S + "/compress",
        "session.compress",
        compressions.compress,
        {201: (CompressionDetails,)},
        refusals=(404, 409, 502),
        cost=Cost("model"),
    ),
    Endpoint(
        "GET",
        S + "/compressions",
        "compression.list",
        compressions.versions,
        {200: (CompressionList,)},
        refusals=(404,),
    ),
    Endpoint(
        "GET", V, "compression.read", compressions.version, {200: (CompressionDetails,)}, refusals=(404,)
    ),
    Endpoint(
        "GET",
        V + "/archive",
        "session.download_archive",
        compressions.archive,
        {200: ("application/gzip",)},
        refusals=(404, 500),
        cost=Cost("copy"),
    ),
    Endpoint(
        "POST",
        V + "/activate",
        "compression.activate",
        compressions.activate,
        {200: (CompressionList,)},
        refusals=(404, 409),
    ),
    Endpoint(
        "POST",
        SUMMARY,
        "summary.make",
        summaries.make,
        {201: (Summary,)},
        SummaryBody,
        refusals=(404, 409, 502),
        cost=Cost("model"),
    ),
    Endpoint(
        "GET", SUMMARY + "/{session_id}", "summary.read", summaries.read, {200: (Summary,)}, refusals=(404,)
    ),
    Endpoint(
        "GET",
        "/api/session/summaries",
        "summary.list",
        summaries.find,
        {200: (SummariesReply,)},
        query=SummariesQuery,
        refusals=(403,),
    ),
    Endpoint(
        "GET",
        S + "/replay",
        "event.replay",
        records.replay,
        {200: (STREAM,), 204: (None,)},
        query=ReplayQuery,
        refusals=(404,),
        headers=CURSOR,
    ),
    Endpoint(
        "GET",
        S + "/export",
        "session.export",
        records.export,
        {200: (NDJSON, "text/markdown", "text/html")},
        query=ExportQuery,
        refusals=(404, 409),
        cost=Cost("copy"),
    ),
    Endpoint(
        "POST",
        "/api/sessions/import",
        "session.import",
        records.import_,
        {201: (Session,)},
        upload=NDJSON,
        refusals=(409, 413, 429, 503),
        cost=Cost("import"),
    ),
    Endpoint(
        "GET",
        "/api/export",
        "session.export_all",
        records.export_all,
        {200: (NDJSON,)},
        cost=Cost("copy"),
    ),
    Endpoint(
        "POST",
        "/api/import",
        "session.import_all",
        records.import_all,
        {200: (ImportedSessions,)},
        upload=NDJSON,
        refusals=(413, 503),
        cost=Cost("import"),
    ),
    Endpoint(
        "POST",
        "/api/import/chats",
        "session.import_chats",
        foreign_chats.import_chats,
        {200: (NDJSON,)},
        query=ForeignChatsQuery,
        upload=ANYTHING,
        refusals=(413, 429, 503),
        cost=Cost("import"),
    ),
    Endpoint(
        "POST",
        S + "/archive",
        "session.archive",
        records.archive,
        {200: (Archived,)},
        refusals=(404, 409, 503),
        cost=Cost("copy"),
    ),
    Endpoint("GET", "/api/skills", "skill.list", skills.find, {200: (SkillList,)}, query=SkillsQuery),
    Endpoint(
        "POST",
        "/api/skills/refresh",
        "skill.refresh",
        skills.refresh,
        {200: (SkillList,)},
        cost=Cost("assemble"),
    ),
    Endpoint(
        "PATCH",
        "/api/skills/{name}",
        "skill.switch",
        skills.switch,
        {200: (SkillRow,)},
        SwitchBody,
        refusals=(403, 404, 409, 413),
    ),
    *MEMORIES,
    *ACCESS,
    *PERSONS,
    *ADMIN,
    *SHARED_LINKS,
    Endpoint(
        "POST",
        ARTIFACTS,
        "artifact.keep",
        artifacts.keep,
        {201: (ArtifactCompact,)},
        ArtifactBody,
        query=UploadQuery,
        upload="application/octet-stream",
        refusals=(404, 409, 413, 429, 503),
    ),
    Endpoint(
        "GET",
        ARTIFACTS,
        "artifact.list",
        artifacts.find,
        {200: (ArtifactPage,)},
        query=ArtifactsQuery,
        refusals=(404,),
        cost=Cost("search", only_with=("q",)),
    ),
    Endpoint(
        "GET",
        ARTIFACT,
        "artifact.read",
        artifacts.read,
        {200: (ANYTHING, ArtifactPart), 206: (ANYTHING,), 304: (None,)},
        query=PartQuery,
        refusals=(404, 416, 429, 500),
        headers=RANGE,
        cost=Cost("extract", only_with=("lines", "bytes", "json_path", "search")),
    ),
    Endpoint(
        "GET",
        ARTIFACT + "/compact",
        "artifact.read",
        artifacts.compact,
        {200: (ArtifactCompact,)},
        refusals=(404,),
    ),
    Endpoint(
        "DELETE",
        ARTIFACT,
        "artifact.delete",
        artifacts.delete,
        {204: (None,)},
        refusals=(404,),
    ),
    Endpoint(
        "POST",
        SCHEDULES,
        "schedule.create",
        schedules.create,
        {201: (ScheduleReply,)},
        ScheduleBody,
        refusals=(404, 409, 413),
    ),
    Endpoint(
        "POST",
        SCHEDULES + "/preview",
        "schedule.preview",
        schedules.preview,
        {200: (SchedulePreview,)},
        TimingBody,
        refusals=(413,),
    ),
    Endpoint("GET", SCHEDULES, "schedule.list", schedules.find, {200: (ScheduleList,)}),
    Endpoint("GET", SCHEDULE, "schedule.read", schedules.read, {200: (ScheduleDetails,)}, refusals=(404,)),
    Endpoint(
        "PATCH",
        SCHEDULE,
        "schedule.change",
        schedules.change,
        {200: (ScheduleReply,)},
        ScheduleChanges,
        refusals=(404, 409, 413),
    ),
    Endpoint(
        "DELETE",
        SCHEDULE,
        "schedule.delete",
        schedules.delete,
        {204: (None,)},
        refusals=(404,),
    ),
    Endpoint(
        "POST",
        SCHEDULE + "/run",
        "schedule.run",
        schedules.run,
        {202: (ScheduleReply,)},
        refusals=(404, 409),
    ),
    Endpoint(
        "POST",
        "/api/webhooks",
        "webhook.add",
        webhooks.add,
        {201: (NewWebhook,)},
        WebhookBody,
        refusals=(409, 413),
    ),
    Endpoint("GET", "/api/webhooks", "webhook.list", webhooks.find, {200: (WebhookList,)}),
    Endpoint("GET", W, "webhook.read", webhooks.read, {200: (WebhookReply,)}, refusals=(404,)),
    Endpoint(
        "PATCH",
        W,
        "webhook.change",
        webhooks.change,
        {200: (WebhookReply,)},
        WebhookChanges,
        refusals=(404, 413),
    ),
    Endpoint("DELETE", W, "webhook.delete", webhooks.delete, {204: (None,)}, refusals=(404,)),
    Endpoint(
        "POST",
        W + "/test",
        "webhook.test",
        webhooks.test,
        {200: (WebhookTest,)},
        refusals=(404,),
        cost=Cost("deliver"),
    ),
    Endpoint(
        "GET",
        W + "/deliveries",
        "webhook.list_deliveries",
        webhooks.deliveries,
        {200: (DeliveryList,)},
        query=DeliveriesQuery,
        refusals=(404,),
    ),
    Endpoint(
        "POST",
        W + "/replay",
        "webhook.replay",
        webhooks.replay,
        {200: (Replayed,)},
        ReplayBody,
        refusals=(404, 413),
        cost=Cost("deliver"),
    ),
    Endpoint("GET", "/api/audit", "audit.list", audit.find, {200: (AuditPage,)}, query=AuditPageQuery),
    Endpoint(
        "GET",
        "/api/audit/export",
        "audit.export",
        audit.export,
        {200: (NDJSON,)},
        query=AuditQuery,
        cost=Cost("copy"),
    ),
    Endpoint("GET", "/api/prompts", "prompt.list", prompts.components, {200: (PromptReport,)}),
    Endpoint(
        "POST",
        "/api/prompts/preview",
        "prompt.try_edits",
        prompts.preview_edits,
        {200: (PromptPreview,)},
        EditsBody,
        refusals=(403, 404, 413),
        cost=Cost("assemble"),
    ),
    Endpoint(
        "GET",
        "/api/prompts/preview",
        "prompt.preview",
        prompts.preview,
        {200: (PromptPreview,)},
        query=PreviewQuery,
        refusals=(404,),
        cost=Cost("assemble"),
    ),
    Endpoint(
        "GET",
        T + "/prompt",
        "prompt.read_sent",
        prompts.sent,
        {200: (SentPrompt,)},
        refusals=(404, 500),
        cost=Cost("assemble"),
    ),
    Endpoint("GET", "/api/me", "caller.read", health.me, {200: (Caller,)}),
    Endpoint("GET", "/api/models", "model.list", choosable_models, {200: (ChoosableModels,)}),
    Endpoint(
        "GET",
        "/api/schema/events.json",
        "schema.read",
        health.event_schema,
        {200: ("application/schema+json",)},
    ),
    Endpoint("GET", "/healthz", "health.read", health.alive, {200: (Health,)}),
    Endpoint("GET", "/readyz", "health.read", health.ready, {200: (Health,)}, refusals=(503,)),
    Endpoint(
        "GET",
        "/metrics",
        "metrics.read",
        health.metrics,
        {200: ("text/plain", "application/openmetrics-text")},
    ),
)  # fmt: skip - a table is read in rows
