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
ERROR_TYPE: Final = "error.type"
OTHER: Final = "_OTHER"
"""The conventions' value for an error type, or any other name, that is not one of the known ones."""

# Attributes: a model call
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_STREAM: Final = "gen_ai.request.stream"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
TIME_TO_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
USAGE_INPUT: Final = "gen_ai.usage.input_tokens"
USAGE_OUTPUT: Final = "gen_ai.usage.output_tokens"
USAGE_CACHE_READ: Final = "gen_ai.usage.cache_read.input_tokens"
USAGE_CACHE_WRITE: Final = "gen_ai.usage.cache_write.input_tokens"
USAGE_CACHE_CREATION: Final = "gen_ai.usage.cache_creation.input_tokens"
"""The former name of cache_write, which most dashboards still read."""
MODALITY: Final = "gen_ai.token.modality"
STOP_REASON: Final = "gateway.upstream.stop_reason"
ATTEMPTS: Final = "gateway.upstream.attempts"
ATTEMPT: Final = "gateway.upstream.attempt"
ITERATION: Final = "gateway.turn.iteration"
TEXT_PIECES: Final = "gateway.response.text_pieces"
THINKING_PIECES: Final = "gateway.response.thinking_pieces"
CALL_COST: Final = "gateway.cost_usd"

# Attributes: tools and retrieval
TOOL: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_EFFECT: Final = "gateway.tool.effect"
TOOL_STATUS: Final = "gateway.tool.status"
DATA_SOURCE: Final = "gen_ai.data_source.id"
RETRIEVAL_RESULTS: Final = "gateway.retrieval.results"
RETRIEVAL_TOKENS: Final = "gateway.retrieval.tokens"
RETRIEVAL_DEGRADED: Final = "gateway.retrieval.degraded"

# Attributes: a turn. Its totals are not gen_ai.usage.*, since backends add those up over a trace's spans.
TURN: Final = "gateway.turn.id"
OUTCOME: Final = "gateway.turn.outcome"
RESUMED: Final = "gateway.turn.resumed"
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

# Attributes: streams and retries
STREAM_KIND: Final = "gateway.stream.kind"
REASON: Final = "gateway.reason"
LINK: Final = "gateway.link"

# Values
ANTHROPIC: Final = "anthropic"
"""What the conventions require for every endpoint that speaks the Anthropic Messages API."""
INVOKE_AGENT: Final = "invoke_agent"
CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"
RETRIEVAL: Final = "retrieval"
UNFINISHED: Final = "unfinished"
"""Outcome of a turn whose end this process did not see."""

# Span events
RETRY: Final = "gateway.retry"
FIRST_CHUNK: Final = "gateway.first_chunk"

# Histogram buckets, as the conventions advise them
SECONDS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
AGENT_SECONDS: Final = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
TOKENS: Final = tuple(4.0**power for power in range(14))
COUNTS: Final = tuple(2.0**power for power in range(8))

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
"""Which statuses of a tool result are errors. A denied or cancelled call is somebody's decision."""
