"""Settings of earlier versions: their names are accepted, and have no effect."""

from collections.abc import Mapping

WITHOUT_EFFECT: Mapping[str, str] = {
    "GATEWAY_CARRIED_SUMMARIES": "a new session is shown at most 3 summaries of earlier ones",
    "GATEWAY_MEMORY_FULL_CHARACTERS": "GATEWAY_MEMORY_PROMPT_TOKENS bounds the memories in the prompt",
    "GATEWAY_MEMORY_FULL_COUNT": "GATEWAY_MEMORY_PROMPT_TOKENS bounds the memories in the prompt",
    "GATEWAY_SCHEDULE_MIN_INTERVAL": "two due times of a schedule are at least 60 seconds apart",
    "GATEWAY_TRACE_CONTENT_LIMIT": "an attribute with content has at most 32768 characters",
    "GATEWAY_TRACE_SLOW_FIRST_SECONDS": "a model call is slow after 5 seconds without content",
    "GATEWAY_TRACE_SLOW_SECONDS": "a turn is slow after 30 seconds",
}
"""What holds now, by the variable of the setting."""
