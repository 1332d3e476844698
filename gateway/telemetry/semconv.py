"""The names our telemetry uses.

`gen_ai.*` follows the OpenTelemetry GenAI conventions (open-telemetry/semantic-conventions-genai, development
schema 1.42), which the Python package opentelemetry-semantic-conventions does not carry. `gateway.*` is ours.
"""

from collections.abc import Mapping
from typing import Final

# Attributes: what ran
OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
AGENT: Final = "gen_ai.agent.name"
CONVERSATION: Final = "gen_ai.conversation.id"
SESSION: Final = "session.id"
BESIDE_SESSION: Final = "gateway.session.id"
"""The session of a root that is no turn: requests, archives, compressions by themselves. Backends show as a
session's input and output those of the first and last trace with `session.id`, and these have none."""
USER: Final = "user.id"
ERROR_TYPE: Final = "error.type"
OTHER: Final = "_OTHER"
"""The conventions' value for an error type, or any other name, that is not one of the known ones."""

# Attributes: a model call
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_STREAM: Final = "gen_ai.request.stream"
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
COMPACTED: Final = "gen_ai.conversation.compacted"
RESPONSE_ID: Final = "gen_ai.response.id"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
TIME_TO_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
USAGE_INPUT: Final = "gen_ai.usage.input_tokens"
USAGE_OUTPUT: Final = "gen_ai.usage.output_tokens"
USAGE_CACHE_READ: Final = "gen_ai.usage.cache_read.input_tokens"
USAGE_CACHE_WRITE: Final = "gen_ai.usage.cache_write.input_tokens"
USAGE_CACHE_CREATION: Final = "gen_ai.usage.cache_creation.input_tokens"
"""The former name of cache_write, which most dashboards still read."""
SYSTEM: Final = "gen_ai.system"
USAGE_PROMPT: Final = "gen_ai.usage.prompt_tokens"
USAGE_COMPLETION: Final = "gen_ai.usage.completion_tokens"
"""Former names, emitted when GATEWAY_GENAI_COMPAT is dup."""
USAGE_SOURCE: Final = "gateway.usage.source"
MODALITY: Final = "gen_ai.token.modality"
STOP_REASON: Final = "gateway.upstream.stop_reason"
ATTEMPTS: Final = "gateway.upstream.attempts"
ATTEMPT: Final = "gateway.upstream.attempt"
ITERATION: Final = "gateway.turn.iteration"
TEXT_PIECES: Final = "gateway.response.text_pieces"
THINKING_PIECES: Final = "gateway.response.thinking_pieces"
CALL_COST: Final = "gateway.cost_usd"
KEY_OF: Final = "gateway.provider_key"
PURPOSE: Final = "gateway.purpose"
"""What a model is asked for: `answer`, or something beside a turn (gateway/model/side_calls.py)."""
PREFIX_HASH: Final = "gateway.prompt.prefix_hash"
COMPONENTS: Final = "gateway.prompt.components"
INSTRUCTIONS_TOKENS: Final = "gateway.prompt.instructions_tokens"
PROMPT_PROFILE: Final = "gateway.prompt.profile"
TOOLS_LEFT_OUT: Final = "gateway.prompt.tools_left_out"

# Attributes: tools and retrieval
TOOL: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_EFFECT: Final = "gateway.tool.effect"
TOOL_RUNS_ON: Final = "gateway.tool.runs_on"
"""`client`: the user's client ran it. Absent: the gateway did."""
TOOL_STATUS: Final = "gateway.tool.status"
SUGGESTIONS: Final = "gateway.tool.memory_suggestions"
STEP_ID: Final = "gateway.tool.step.id"
STEP_NAME: Final = "gateway.tool.step.name"
DATA_SOURCE: Final = "gen_ai.data_source.id"
RETRIEVAL_RESULTS: Final = "gateway.retrieval.results"
RETRIEVAL_TOKENS: Final = "gateway.retrieval.tokens"
RETRIEVAL_DEGRADED: Final = "gateway.retrieval.degraded"
RETRIEVAL_MODE: Final = "gateway.retrieval.mode"
RETRIEVAL_SHOWN: Final = "gateway.retrieval.told"
"""Of the results, how many were new in the model's context."""
RETRIEVAL_OMITTED: Final = "gateway.retrieval.omitted"

# Attributes: what is remembered
MEMORY_OP: Final = "gateway.memory.op"
MEMORY_ID: Final = "gateway.memory.id"
MEMORY_TYPE: Final = "gateway.memory.type"
MEMORY_BY: Final = "gateway.memory.by"
"""Who changed it: `user`, `model`, `keeper` or `tool`, and nobody by name."""
MEMORY_VERSION: Final = "gateway.memory.version"
MEMORY_STATUS: Final = "gateway.memory.status"
MEMORY_QUARANTINED: Final = "gateway.memory.quarantined"
LEARNING_CALLS: Final = "gateway.memory.learn.calls"
LEARNING_OFFERED: Final = "gateway.memory.learn.offered"
LEARNING_DROPPED: Final = "gateway.memory.learn.dropped"
LEARNING_CHANGED: Final = "gateway.memory.learn.changed"
LEARNING_INPUT: Final = "gateway.memory.learn.input_tokens"
LEARNING_OUTPUT: Final = "gateway.memory.learn.output_tokens"

# Attributes: offloaded results
ARTIFACT_REF: Final = "gateway.artifact.ref"
ARTIFACT_KIND: Final = "gateway.artifact.kind"
ARTIFACT_SIZE: Final = "gateway.artifact.size"
ARTIFACT_LINES: Final = "gateway.artifact.lines"
ARTIFACT_SOURCE: Final = "gateway.artifact.source"
"""Where a content comes from: `tool`, `attachment` or `upload`."""
ATTACHMENTS: Final = "gateway.turn.attachments"
ATTACHED_SIZE: Final = "gateway.turn.attachments_size"
"""Bytes of all files of the message."""

# Attributes: whether a call may run, and skills
APPROVAL_ASKED: Final = "gateway.approval.asked"
"""Whether a person had to be asked."""
APPROVAL_DECISION: Final = "gateway.approval.decision"
APPROVAL_BY: Final = "gateway.approval.by"
APPROVAL_SCOPE: Final = "gateway.approval.scope"
SKILL_NAME: Final = "gateway.skill.name"
SKILL_TYPE: Final = "gateway.skill.type"
SKILL_ACTION: Final = "gateway.skill.action"
SKILL_PATH: Final = "gateway.skill.path"
SKILL_DIGEST: Final = "gateway.skill.digest"

# Attributes: a turn. Its totals are not gen_ai.usage.*, since backends add those up over a trace's spans.
TURN: Final = "gateway.turn.id"
OUTCOME: Final = "gateway.turn.outcome"
RESUMED: Final = "gateway.turn.resumed"
DIALECT: Final = "gateway.dialect"
"""Of a turn: the adapter by which it was asked for; of a request or stream: that of its path. Absent: the
gateway's own routes."""
FIRST_SEQ: Final = "gateway.session.event_seq.first"
LAST_SEQ: Final = "gateway.session.event_seq.last"
TURN_ITERATIONS: Final = "gateway.turn.iterations"
TURN_TOOL_CALLS: Final = "gateway.turn.tool_calls"
TURN_INPUT: Final = "gateway.turn.input_tokens"
TURN_OUTPUT: Final = "gateway.turn.output_tokens"
TURN_CACHE_READ: Final = "gateway.turn.cache_read_tokens"
TURN_CACHE_WRITE: Final = "gateway.turn.cache_write_tokens"
TURN_COST: Final = "gateway.turn.cost_usd"
TURN_UNREPORTED: Final = "gateway.turn.usage_unreported"
TURN_WAITED: Final = "gateway.turn.waited"
TURN_FIRST_TEXT: Final = "gateway.turn.time_to_first_text"
TURN_TRACE: Final = "gateway.turn.trace_id"
REQUEST_TRACE: Final = "gateway.request.trace_id"

# Attributes: what a person thinks of a turn
EVALUATION: Final = "gen_ai.evaluation.name"
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_SCORE: Final = "gen_ai.evaluation.score.value"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"
RATING: Final = "gateway.feedback.rating"
RATED: Final = "gateway.feedback.of"

# Attributes: compression
TRIGGER: Final = "gateway.compression.trigger"
OPERATION_ID: Final = "gateway.operation.id"
COMPRESSION_INPUT: Final = "gateway.compression.input_tokens"
COMPRESSION_OUTPUT: Final = "gateway.compression.output_tokens"
COMPRESSION_FACTS: Final[Mapping[str, str]] = {
    "version": "gateway.compression.version",
    "tokens_before": "gateway.compression.tokens_before",
    "tokens_after": "gateway.compression.tokens_after",
    "cost": CALL_COST,
}
"""Fields of a compression event, and what their attributes are called."""

# Attributes: requests (OpenTelemetry semantic conventions for HTTP)
HTTP_METHOD: Final = "http.request.method"
HTTP_METHOD_ORIGINAL: Final = "http.request.method_original"
HTTP_ROUTE: Final = "http.route"
HTTP_STATUS: Final = "http.response.status_code"
URL_PATH: Final = "url.path"
URL_SCHEME: Final = "url.scheme"
PROTOCOL_VERSION: Final = "network.protocol.version"
REQUEST_ID: Final = "gateway.request.id"
STARTED_TURN: Final = "gateway.request.started_turn"

# Attributes: content, only where it is asked for
INPUT: Final = "input.value"
OUTPUT: Final = "output.value"
INPUT_MIME: Final = "input.mime_type"
OUTPUT_MIME: Final = "output.mime_type"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_OUTCOME: Final = "gen_ai.tool.call.result"

# Attributes: streams and retries
STREAM_KIND: Final = "gateway.stream.kind"
STREAM_FROM: Final = "gateway.stream.from_seq"
STREAM_SENT: Final = "gateway.stream.events_sent"
STREAM_OUTCOME: Final = "gateway.stream.outcome"
STREAM_CLOSED: Final = "gateway.stream.close_reason"
REASON: Final = "gateway.reason"
LINK: Final = "gateway.link"

# Attributes that only metrics have
TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105 - tokens of text
DATABASE: Final = "gateway.database"
"""`sessions` or `memories`."""
POOL: Final = "gateway.pool"
CONNECTION_STATE: Final = "gateway.connection.state"
EVENT_TYPE: Final = "gateway.event.type"
SIGNAL: Final = "gateway.signal"
SKILL_ENABLED: Final = "gateway.skill.enabled"
MCP_SERVER: Final = "gateway.mcp.server"
TASK: Final = "gateway.task"
"""A background task, by its name."""
MEMORY_SHOWN: Final = "gateway.memory.told"
"""Of what was found: `now`, `before`, or `omitted` for want of room."""
WARNING_CODE: Final = "gateway.warning.code"
READ_HOW: Final = "gateway.artifact.read"
"""`lines`, `bytes`, `json_path` or `search`."""
READ_BY: Final = "gateway.artifact.by"
"""`model` or `user`."""
PASSED: Final = "gateway.artifact.passed"
"""What a reference stood for: `whole` or `part`."""
REMOVED: Final = "gateway.artifact.removed"
"""`artifact` whose time was over, or `blob` that nobody needed."""
DELIVERY_OUTCOME: Final = "gateway.webhook.outcome"
"""Of a try: `delivered`, `failed`, to be tried again, or `dead`."""
DELIVERY_STATE: Final = "gateway.webhook.state"
DATABASE_PART: Final = "gateway.database.part"
WEBHOOK_EVENT: Final = "gateway.webhook.event"
"""The event that a webhook is notified of, as `turn.finished`."""
WEBHOOK_ATTEMPT: Final = "gateway.webhook.attempt"
WAITING: Final = "gateway.upstream.waiting_kind"
"""`turn`, or `background`: a call that nobody waits for."""
LIMIT_OF: Final = "gateway.limit.of"
"""Of whom a limit is: user, key, tenant, address or all."""
LIMITED: Final = "gateway.limit.measure"
"""What it limits: requests, turns, concurrent, tokens or cost."""
DOCUMENT_STATE: Final = "gateway.document.state"
EMBEDDED: Final = "gateway.embeddings.kind"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"

# Values
ANTHROPIC: Final = "anthropic"
"""What the conventions require for every endpoint that speaks the Anthropic Messages API."""
INVOKE_AGENT: Final = "invoke_agent"
CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"
RETRIEVAL: Final = "retrieval"
COMPRESSION: Final = "gateway.compression"
ARCHIVE: Final = "gateway.archive"
FEEDBACK: Final = "gateway.feedback"
WEBHOOK: Final = "gateway.webhook"
ADMISSION: Final = "gateway.admission"
APPROVAL: Final = "gateway.approval"
SKILL: Final = "gateway.skill"
STEP: Final = "gateway.tool.step"
MEMORY: Final = "gateway.memory"
ARTIFACT: Final = "gateway.artifact"
LEARN: Final = "gateway.memory.learn"
UNFINISHED: Final = "unfinished"
"""Outcome of a turn whose end this process did not see."""

# Span events
RETRY: Final = "gateway.retry"
WARNING: Final = "gateway.warning"
ARTIFACT_WARNINGS: Final = ("artifact_not_kept", "attachment_not_shown")
"""Its codes."""
FIRST_CHUNK: Final = "gateway.first_chunk"
EVALUATION_RESULT: Final = "gen_ai.evaluation.result"

FINISH: Final[Mapping[str, str]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_call",
}
"""Stop reasons of the Messages API as the conventions name them; others are passed on as they are."""

TOOL_ERRORS: Final[Mapping[str, str]] = {
    "error": "tool_failed",
    "timeout": "tool_timeout",
    "unknown_outcome": "unknown_outcome",
}
"""Which statuses of a tool result are errors. A denied or cancelled call is a decision of a person."""
