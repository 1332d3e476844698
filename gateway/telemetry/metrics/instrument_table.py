"""All instruments: name, unit, help, labels, buckets. The parts that record them are the other files here."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from gateway.telemetry import semconv as s
from gateway.telemetry.metrics import buckets

NO_SEEDS: Mapping[str, Sequence[str]] = MappingProxyType({})

MICROSECONDS: Final = 1_000_000
MILLISECONDS: Final = 1000


Labels = tuple[str, ...]


class Instrument(NamedTuple):
    """`labels` are the attributes that a series may have. A histogram has `bounds`, in `unit`; one that is
    counted in integers counts in `parts` of the unit. `seeds` are series that are there from the start, by
    label: a series that begins at 1 hides its first event from `rate`. `former`: a name that was given up,
    recorded with GATEWAY_GENAI_COMPAT=dup."""

    name: str
    kind: Literal["counter", "up_down_counter", "gauge", "histogram"]
    unit: str
    description: str
    labels: Labels = ()
    bounds: Sequence[float] = ()
    parts: int = 1
    seeds: Mapping[str, Sequence[str]] = NO_SEEDS
    former: bool = False


def _counter(
    name: str, unit: str, description: str, labels: Labels = (), seeds: Mapping[str, Sequence[str]] = NO_SEEDS
) -> Instrument:
    return Instrument(name, "counter", unit, description, labels, seeds=seeds)


def _up_down_counter(name: str, unit: str, description: str, labels: Labels = ()) -> Instrument:
    return Instrument(name, "up_down_counter", unit, description, labels)


def _gauge(name: str, unit: str, description: str, labels: Labels = ()) -> Instrument:
    return Instrument(name, "gauge", unit, description, labels)


def _histogram(
    name: str,
    unit: str,
    description: str,
    bounds: Sequence[float],
    labels: Labels = (),
    *,
    parts: int = 1,
    former: bool = False,
) -> Instrument:
    return Instrument(name, "histogram", unit, description, labels, bounds, parts, former=former)


# Turns
TURNS_ACTIVE = _up_down_counter(
    "gateway.turn.active", "{turn}", "Turns in progress, but for those that wait for a person."
)
OLDEST_TURN_AGE = _gauge(
    "gateway.turn.oldest_age",
    "s",
    "How long the longest running turn has run, its waits for a person left out; 0 when none does.",
)
TURNS_PARKED = _gauge(
    "gateway.turn.parked", "{turn}", "Turns that wait for a person's decision, or a client's result."
)
TURNS = _counter("gateway.turns", "{turn}", "Turns that ended, by outcome.", (s.AGENT, s.OUTCOME, s.DIALECT))
TURN_DURATION = _histogram(
    "gen_ai.invoke_agent.duration",
    "s",
    "Turns, from their start to the end, without the time that they waited for a person.",
    buckets.AGENT_SECONDS,
    (s.AGENT, s.ERROR_TYPE),
)
TURN_CALLS = _histogram(
    "gen_ai.invoke_agent.inference_calls",
    "{inference_call}",
    "Model calls of one turn.",
    buckets.COUNTS,
    (s.AGENT,),
)
TURN_TOOL_CALLS = _histogram(
    "gen_ai.invoke_agent.tool_calls", "{tool_call}", "Tool calls of one turn.", buckets.COUNTS, (s.AGENT,)
)
ADMISSION_WAIT = _histogram(
    "gateway.admission.wait", "s", "How long turns waited for those before them.", buckets.AGENT_SECONDS
)
QUEUE_DEPTH = _gauge("gateway.admission.queue_depth", "{turn}", "Turns that wait for those before them.")
LIMITS_REACHED = _counter(
    "gateway.limit.refusals",
    "{refusal}",
    "Requests and turns that were refused by GATEWAY_LIMITS, by whose limit it was and of what.",
    (s.LIMIT_OF, s.LIMITED),
)
LIMITS_FAILING = _gauge(
    "gateway.limit.unavailable",
    "{failure}",
    "1 while what is counted for the limits cannot be read or written: requests come in uncounted, or are "
    "refused with GATEWAY_LIMITS_WHEN_DOWN=closed.",
)
DATABASE_UNUSABLE = _gauge(
    "gateway.database.unusable",
    "{file}",
    "1 when a database's file was replaced while it was open (database_replaced), or damage was met in it "
    "(storage_damaged), until the process ends.",
    (s.DATABASE, s.ERROR_TYPE),
)
FEEDBACK = _counter(
    "gateway.feedback",
    "{rating}",
    "Ratings of turns by people: up, down, or none where one was taken back.",
    (s.RATING, s.RATED),
)
SESSIONS_EXPIRED = _counter(
    "gateway.sessions.expired", "{session}", "Sessions that were deleted as their retention was over."
)
ERASURES_OPEN = _gauge(
    "gateway.erasures.open", "{person}", "Persons who are to be erased and are not yet: each is refused."
)
DATABASE_SIZE = _gauge(
    "gateway.database.size",
    "By",
    "What the database takes on disk: its file, its write-ahead log (wal) and that of the memories, or all "
    "of it on a server.",
    (s.DATABASE_PART,),
)
DISK_FREE = _gauge("gateway.disk.free", "By", "Free on the disk of the data folder.")
DISK_SIZE = _gauge("gateway.disk.size", "By", "Of the disk of the data folder.")
SCHEDULE_RUNS = _counter(
    "gateway.schedule.runs",
    "{run}",
    "Due times of schedules, by how their turn ended, or why there was none: missed, or refused.",
    (s.OUTCOME,),
    {s.OUTCOME: ("completed", "failed", "missed", "refused")},
)
SCHEDULE_DELAY = _histogram(
    "gateway.schedule.delay",
    "s",
    "How long after their due time the turns of schedules were accepted.",
    buckets.AGENT_SECONDS,
)
SCHEDULE_OVERDUE = _gauge(
    "gateway.schedule.overdue",
    "s",
    "How long the schedule that has been due longest could not begin its run; 0: none waits.",
)
SCHEDULES_HELD_UP = _gauge(
    "gateway.schedule.held_up",
    "{schedule}",
    "Schedules that are late as their run before is under way still.",
)
WEBHOOK_DURATION = _histogram(
    "gateway.webhook.duration",
    "s",
    "Posts to webhooks, by what came of them: failed ones are tried again, dead ones are not.",
    buckets.SECONDS,
    (s.WEBHOOK_EVENT, s.DELIVERY_OUTCOME),
)
WEBHOOK_DELAY = _histogram(
    "gateway.webhook.delay",
    "s",
    "From what happened to its delivery to a webhook, with all tries.",
    buckets.APPROVAL_SECONDS,
)
WEBHOOK_DELIVERIES = _gauge(
    "gateway.webhook.deliveries",
    "{delivery}",
    "Deliveries to webhooks that are pending, and dead ones.",
    (s.DELIVERY_STATE,),
)
USAGE_UNREPORTED = _counter(
    "gateway.usage.unreported", "{call}", "Model calls that began to answer and never reported their usage."
)
COMPRESSIONS = _counter(
    "gateway.compressions",
    "{compression}",
    "Compressions that ended, by what began them and how.",
    (s.TRIGGER, s.OUTCOME),
)
COMPRESSION_DURATION = _histogram(
    "gateway.compression.duration",
    "s",
    "Compressions of a session's history, the summary included.",
    buckets.AGENT_SECONDS,
    (s.TRIGGER, s.OUTCOME),
)
TOKENS_SAVED = _counter(
    "gateway.compression.tokens_saved",
    "{token}",
    "By how much compressions made the history shorter that the model is sent, estimated.",
    (s.TRIGGER,),
)
ARCHIVE_DURATION = _histogram(
    "gateway.archive.write.duration",
    "s",
    "Moves of a session to its archive.",
    buckets.SECONDS,
    (s.ERROR_TYPE,),
)

# Model calls
_CALL = (s.OPERATION, s.PROVIDER, s.REQUEST_MODEL, s.PURPOSE, s.SERVER_ADDRESS, s.SERVER_PORT)
_CALL_ENDED = (*_CALL, s.RESPONSE_MODEL, s.ERROR_TYPE)
_CALL_TOKENS = (*_CALL, s.MODALITY)
CALL_DURATION = _histogram(
    "gen_ai.client.inference.duration", "s", "Model calls, retries included.", buckets.SECONDS, _CALL_ENDED
)
FORMER_CALL_DURATION = CALL_DURATION._replace(name="gen_ai.client.operation.duration", former=True)
FIRST_CHUNK = _histogram(
    "gen_ai.client.inference.time_to_first_chunk",
    "s",
    "From a model call's start to its first content.",
    buckets.SECONDS,
    (*_CALL, s.RESPONSE_MODEL),
)
FORMER_FIRST_CHUNK = FIRST_CHUNK._replace(name="gen_ai.client.operation.time_to_first_chunk", former=True)
CHUNK_GAPS = _histogram(
    "gen_ai.client.inference.time_per_output_chunk",
    "s",
    "Between two pieces of an answer, as they came from the endpoint.",
    buckets.SECONDS,
    _CALL,
    parts=MILLISECONDS,
)
FORMER_CHUNK_GAPS = CHUNK_GAPS._replace(name="gen_ai.client.operation.time_per_output_chunk", former=True)
INPUT_TOKENS = _counter(
    "gen_ai.client.inference.usage.input_tokens",
    "{token}",
    "Input tokens, cached ones included.",
    _CALL_TOKENS,
)
OUTPUT_TOKENS = _counter(
    "gen_ai.client.inference.usage.output_tokens", "{token}", "Output tokens.", _CALL_TOKENS
)
CACHE_READ_TOKENS = _counter(
    "gen_ai.client.inference.usage.cache_read.input_tokens",
    "{token}",
    "Input tokens read from the prompt cache.",
    _CALL_TOKENS,
)
CACHE_WRITE_TOKENS = _counter(
    "gen_ai.client.inference.usage.cache_write.input_tokens",
    "{token}",
    "Input tokens written to the prompt cache.",
    _CALL_TOKENS,
)
CALL_INPUT_TOKENS = _histogram(
    "gen_ai.client.inference.operation.input_tokens",
    "{token}",
    "Input tokens of one model call.",
    buckets.TOKENS,
    _CALL_ENDED,
)
CALL_OUTPUT_TOKENS = _histogram(
    "gen_ai.client.inference.operation.output_tokens",
    "{token}",
    "Output tokens of one model call.",
    buckets.TOKENS,
    _CALL_ENDED,
)
FORMER_CALL_TOKENS = _histogram(
    "gen_ai.client.token.usage",
    "{token}",
    "Tokens of one model call.",
    buckets.TOKENS,
    (*_CALL_ENDED, s.TOKEN_TYPE),
    former=True,
)
RETRIES = _counter(
    "gateway.upstream.retries",
    "{retry}",
    "Attempts of a model call that failed and were repeated.",
    (s.REQUEST_MODEL, s.REASON),
)
STOPS = _counter(
    "gateway.upstream.stops",
    "{call}",
    "Model calls that ended in order, by stop reason.",
    (s.REQUEST_MODEL, s.REASON),
)
SLOT_WAITING = _gauge(
    "gateway.upstream.waiting",
    "{call}",
    "Model calls that wait for a slot of an endpoint that answers few at once: of turns, or in background.",
    (s.WAITING,),
)
SLOT_WAIT = _histogram(
    "gateway.upstream.wait",
    "s",
    "How long model calls waited for a slot of such an endpoint, those included that were given up.",
    buckets.AGENT_SECONDS,
    (s.WAITING,),
)
COST = _counter(
    "gateway.cost", "USD", "What model calls cost, where it is known.", (s.REQUEST_MODEL, s.PURPOSE)
)

# Tools and skills
TOOL_CALLS = _counter(
    "gateway.tool.calls",
    "{call}",
    "Tool calls that ended, by tool and status; those that clients ran as client_tool.",
    (s.TOOL, s.TOOL_STATUS),
)
TOOL_DURATION = _histogram(
    "gen_ai.execute_tool.duration",
    "s",
    "Executions of a tool of the gateway, without the time until they were allowed.",
    buckets.SECONDS,
    (s.AGENT, s.TOOL, s.TOOL_TYPE, s.ERROR_TYPE),
)
TOOL_STEPS = _counter(
    "gateway.tool.steps",
    "{step}",
    "Steps that tools reported; failed ones with the error's type.",
    (s.TOOL, s.ERROR_TYPE),
)
SUGGESTIONS = _counter(
    "gateway.memory.suggestions",
    "{suggestion}",
    "What tools thought to be worth remembering, by type.",
    (s.MEMORY_TYPE,),
)
APPROVALS = _counter(
    "gateway.approvals",
    "{decision}",
    "Decisions whether a tool call may run, by whom or what made them.",
    (s.TOOL, s.APPROVAL_BY, s.APPROVAL_DECISION),
)
APPROVAL_WAIT = _histogram(
    "gateway.approval.wait",
    "s",
    "From the question whether a tool call may run to its answer, by a user or by expiry.",
    buckets.APPROVAL_SECONDS,
    (s.APPROVAL_BY,),
)
SKILL_USES = _counter(
    "gateway.skill.uses",
    "{use}",
    "Skills that were read, and calls that were refused because of one.",
    (s.SKILL_NAME, s.SKILL_TYPE, s.SKILL_ACTION),
)
SKILLS = _gauge(
    "gateway.skills",
    "{skill}",
    "Skills in the catalog, by type and whether they are enabled.",
    (s.SKILL_TYPE, s.SKILL_ENABLED),
)
MCP_UP = _gauge("gateway.mcp.up", "{server}", "Whether an MCP server can be used: 1 or 0.", (s.MCP_SERVER,))

# Memory
RECALLS = _counter(
    "gateway.memory.recalls",
    "{recall}",
    "Retrievals of memories that found some, by mode. A degraded one did without a part of the search.",
    (s.RETRIEVAL_MODE, s.RETRIEVAL_DEGRADED),
)
MEMORIES_FOUND = _counter(
    "gateway.memory.found",
    "{memory}",
    "Memories that retrievals found: shown now, shown before, or omitted for want of tokens.",
    (s.MEMORY_SHOWN,),
)
SEARCH_DURATION = _histogram(
    "gateway.memory.search.duration",
    "s",
    "Searches that found memories.",
    buckets.SHORT_SECONDS,
    (s.RETRIEVAL_MODE,),
)
MEMORY_WARNINGS = _counter(
    "gateway.memory.warnings",
    "{warning}",
    "Warnings of turns about their memories, by code.",
    (s.WARNING_CODE,),
    seeds={s.WARNING_CODE: ("memory_changed", "memory_unavailable")},
)
MEMORY_CHANGES = _counter(
    "gateway.memory.changes",
    "{change}",
    "Memories that this process remembered, corrected or forgot, by type and by who did it.",
    (s.MEMORY_OP, s.MEMORY_TYPE, s.MEMORY_BY),
)
LEARNING_DURATION = _histogram(
    "gateway.memory.learning.duration",
    "s",
    "Conversations that were read for what is worth remembering.",
    buckets.AGENT_SECONDS,
    (s.REQUEST_MODEL, s.ERROR_TYPE),
)
LEARNING_DROPPED = _counter(
    "gateway.memory.learning.dropped",
    "{candidate}",
    "What a model offered to remember and was not kept, by reason.",
    (s.REASON,),
)
MEMORIES = _gauge(
    "gateway.memories",
    "{memory}",
    "Memories in the store, documents included, by type, status and whether they wait in quarantine.",
    (s.MEMORY_TYPE, s.MEMORY_STATUS, s.MEMORY_QUARANTINED),
)
DOCUMENTS = _gauge(
    "gateway.documents", "{document}", "Documented memories, by whether they are in use.", (s.DOCUMENT_STATE,)
)
DOCUMENT_WARNINGS = _gauge(
    "gateway.document.warnings",
    "{warning}",
    "Files of documented memories that cannot be used, or not as they are.",
)
EMBEDDINGS = _counter(
    "gateway.embeddings.requests",
    "{request}",
    "Requests to the embeddings API; failed ones with the error's type.",
    (s.EMBEDDED, s.ERROR_TYPE),
)

# Artifacts
ARTIFACT_SIZE = _histogram(
    "gateway.artifact.size",
    "By",
    "Contents that were kept, by their kind and where they came from.",
    buckets.SIZES,
    (s.ARTIFACT_SOURCE, s.ARTIFACT_KIND),
)
ARTIFACT_DURATION = _histogram(
    "gateway.artifact.keep.duration",
    "s",
    "Storing a content, its analysis included; failures with the error's type.",
    buckets.SHORT_SECONDS,
    (s.ARTIFACT_SOURCE, s.ERROR_TYPE),
)
ARTIFACT_READS = _counter(
    "gateway.artifact.reads",
    "{read}",
    "Parts that the model or a user read, by how; refused ones with the error's type.",
    (s.READ_HOW, s.READ_BY, s.ERROR_TYPE),
)
JSON_PATHS_STOPPED = _counter(
    "gateway.artifact.json_path.stopped",
    "{path}",
    "JSON paths that took too much time or memory, or had to wait for too long (busy).",
    (s.REASON,),
    seeds={s.REASON: ("time", "memory", "busy")},
)
REFERENCE_SIZE = _histogram(
    "gateway.artifact.reference.size",
    "By",
    "Artifacts that were passed to a tool by reference, whole or a part of them.",
    buckets.SIZES,
    (s.PASSED,),
)
ARTIFACT_WARNINGS = _counter(
    "gateway.artifact.warnings",
    "{warning}",
    "Warnings of turns about their artifacts, by code.",
    (s.WARNING_CODE,),
    seeds={s.WARNING_CODE: s.ARTIFACT_WARNINGS},
)
ARTIFACTS_DAMAGED = _counter(
    "gateway.artifact.damaged",
    "{content}",
    "Times that a content was asked for and found to be missing or changed.",
    (s.REASON,),
    seeds={s.REASON: ("missing", "changed")},
)
ARTIFACTS_REMOVED = _counter(
    "gateway.artifact.removed",
    "{removal}",
    "Artifacts whose time was over, blobs that nobody needed, and parts of blobs that a crash left, as they "
    "were removed.",
    (s.REMOVED,),
    seeds={s.REMOVED: ("artifact", "blob", "part")},
)
ARTIFACTS = _gauge("gateway.artifacts", "{artifact}", "Artifacts of all users.")
ARTIFACTS_STORED = _gauge(
    "gateway.artifacts.stored",
    "By",
    "What the contents of all artifacts take; what a user has twice counts once.",
)
BLOBS_DOUBTFUL = _gauge(
    "gateway.artifact.blobs.doubtful",
    "{blob}",
    "Blobs that may belong to no artifact and wait to be looked at.",
)

# Streams and requests
STREAMS_ACTIVE = _up_down_counter(
    "gateway.stream.active", "{stream}", "Open event streams.", (s.STREAM_KIND, s.DIALECT)
)
STREAMS_OPENED = _counter(
    "gateway.stream.opened", "{stream}", "Event streams opened.", (s.STREAM_KIND, s.DIALECT)
)
RESUMES = _counter("gateway.stream.resumes", "{resume}", "Streams that went on from a cursor.")
DISCONNECTS = _counter(
    "gateway.stream.disconnects",
    "{disconnect}",
    "Event streams that ended, by reason.",
    (s.STREAM_KIND, s.REASON),
)
SLOW_CONSUMER_DROPS = _counter(
    "gateway.stream.slow_consumer_drops", "{drop}", "Readers that took nothing for too long and were dropped."
)
EVENTS_SENT = _counter(
    "gateway.stream.events_sent", "{event}", "Events sent to readers.", (s.STREAM_KIND, s.EVENT_TYPE)
)
STREAM_BACKLOG = _histogram(
    "gateway.stream.backlog",
    "{event}",
    "Events that were ready for a reader when it was written to; pages of the log included.",
    buckets.COUNTS,
    (s.STREAM_KIND,),
)
DELIVERY_LAG = _histogram(
    "gateway.stream.delivery_lag",
    "s",
    "From an event, as a piece of the model's text, to its bytes being handed to the socket.",
    buckets.SHORT_SECONDS,
    parts=MILLISECONDS,
)
FIRST_EVENT = _histogram(
    "gateway.client.time_to_first_event",
    "s",
    "From a turn's acceptance to the first of its content that its own request was sent.",
    buckets.SECONDS,
    (s.DIALECT,),
)
REQUEST_DURATION = _histogram(
    "http.server.request.duration",
    "s",
    "HTTP requests but for event streams, which last as long as their readers stay.",
    buckets.REQUEST_SECONDS,
    (s.HTTP_METHOD, s.HTTP_ROUTE, s.HTTP_STATUS, s.URL_SCHEME, s.ERROR_TYPE),
)

# The replicas
REPLICAS = _gauge(
    "gateway.replicas", "{replica}", "Replicas on one database that live, as this one sees them."
)
REPLICAS_DIFFER = _gauge(
    "gateway.replicas.differ",
    "{difference}",
    "What others have otherwise than this replica: version, schema, lease, prompts, skills, settings.",
)
TAKEOVERS = _counter(
    "gateway.turn.takeovers",
    "{turn}",
    "Turns that this replica took over, as their owner was lost or had released them.",
    (s.REASON,),
)
LEASE_AGE = _gauge("gateway.lease.age", "s", "Time since the last beat of this replica.")
NOTIFICATION_TIME = _gauge(
    "gateway.notification.time",
    "s",
    "How long this replica took to hear itself through the database: 0 where it has it alone, absent while "
    "it hears nothing.",
)

# Connections to the database
POOL_CONNECTIONS = _gauge(
    "gateway.database.connections",
    "{connection}",
    "Connections to the database by pool: used, or idle.",
    (s.POOL, s.CONNECTION_STATE),
)
POOL_WAITING = _gauge(
    "gateway.database.waiting",
    "{request}",
    "Reads and transactions that wait for a connection of their pool.",
    (s.POOL,),
)
POOL_WAIT = _histogram(
    "gateway.database.wait",
    "s",
    "How long a read or a transaction waited for a connection of its pool.",
    buckets.SHORT_SECONDS,
    (s.POOL,),
    parts=MICROSECONDS,
)

# The process
FLUSH_EVENTS = _histogram(
    "gateway.log.flush.events", "{event}", "Events that one transaction of the log took.", buckets.COUNTS
)
FLUSH_DURATION = _histogram(
    "gateway.log.flush.duration",
    "s",
    "One transaction of the log, from its handing over to its commit.",
    buckets.SHORT_SECONDS,
    parts=MICROSECONDS,
)
FLUSH_FAILURES = _counter(
    "gateway.log.flush.failures", "{flush}", "Transactions of the log that failed as a whole."
)
LOG_READERS = _gauge("gateway.log.readers", "{reader}", "Readers that follow a session's events.")
LOOP_LAG = _histogram(
    "gateway.event_loop.lag",
    "s",
    "How late the event loop ran a timer, looked at four times a second.",
    buckets.SHORT_SECONDS,
    parts=MICROSECONDS,
)
BACKGROUND_FAILURES = _counter(
    "gateway.background.failures",
    "{failure}",
    "Failures of background tasks, each of which was started again.",
    (s.TASK,),
)
BACKGROUND_FAILING = _gauge(
    "gateway.background.failing",
    "{task}",
    "Whether a background task failed and has not been steady since: 1 or 0.",
    (s.TASK,),
)
SPANS_DROPPED = _counter("gateway.telemetry.spans_dropped", "{span}", "Spans that no collector will get.")
EXPORT_FAILURES = _counter(
    "gateway.telemetry.export_failures",
    "{failure}",
    "Attempts to send spans or metrics to a collector that failed.",
    (s.SIGNAL,),
)

INSTRUMENTS: Final = tuple(found for found in list(globals().values()) if isinstance(found, Instrument))
