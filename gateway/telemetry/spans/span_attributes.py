"""The attributes of spans of model calls, tool calls and turns, and of their owner."""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any, Final

from opentelemetry.util.types import AttributeValue

from gateway.messages import Usage
from gateway.model.side_calls import ModelCall
from gateway.telemetry import semconv
from gateway.telemetry.spans.span_creation import Attributes, known
from gateway.telemetry.turn_facts import Call, TurnFacts

CHANGERS: Final = ("model", "keeper")
"""Actors of changes that are no people and no tools (`memory.memories.Attribution`)."""


def ids_of(turn: TurnFacts) -> dict[str, AttributeValue]:
    """What every span of a turn has."""
    return turn_ids(turn.session_id, turn.id)


def turn_ids(session_id: str, turn_id: str) -> dict[str, AttributeValue]:
    return {semconv.CONVERSATION: session_id, semconv.SESSION: session_id, semconv.TURN: turn_id}


def pseudonym(user: str, salt: str) -> str:
    """The same name for the same user under the same salt, from which the user cannot be found: 16 hex
    digits."""
    return hmac.new(salt.encode(), user.encode(), hashlib.sha256).hexdigest()[:16]


def call_facts(call: ModelCall, *, dup: bool) -> dict[str, AttributeValue]:
    """The attributes of a `chat` span at its end; with `dup` under the older names as well."""
    found: Attributes = {
        semconv.ATTEMPTS: call.attempts,
        semconv.USAGE_SOURCE: _usage_source(call),
        semconv.FINISH_REASONS: _finish_reasons(call.stop_reason),
        semconv.STOP_REASON: call.stop_reason,
        semconv.RESPONSE_ID: call.response_id,
        semconv.RESPONSE_MODEL: call.response_model,
        semconv.TIME_TO_FIRST_CHUNK: call.seconds_to_first_chunk,
        semconv.CALL_COST: call.cost,
        semconv.KEY_OF: call.key_of,
    }
    return known({**found, **_usage_facts(call.usage, dup=dup)} if call.usage is not None else found)


def answer_facts(call: Call) -> dict[str, AttributeValue]:
    """Further attributes of the `chat` span of a turn."""
    components = None
    if call.components is not None:
        components = [f"{name} {digest}" for name, digest in call.components.items()]
    return known(
        {
            semconv.TEXT_PIECES: call.text_deltas,
            semconv.THINKING_PIECES: call.thinking_deltas,
            semconv.FIRST_SEQ: call.first_seq,
            semconv.LAST_SEQ: call.last_seq,
            semconv.PREFIX_HASH: call.prefix_hash,
            semconv.COMPONENTS: components,
            semconv.INSTRUCTIONS_TOKENS: call.instructions_tokens,
            semconv.PROMPT_PROFILE: call.prompt_profile,
            semconv.TOOLS_LEFT_OUT: call.tools_left_out,
        }
    )


def retrieval_facts(data: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """The attributes of a `retrieval` span. How many results are new to the model, and what was left out,
    only where the event has it."""
    results = data["results"]
    found: dict[str, AttributeValue] = {
        semconv.DATA_SOURCE: data["source"],
        semconv.RETRIEVAL_RESULTS: len(results),
        semconv.RETRIEVAL_TOKENS: data["tokens"],
        semconv.RETRIEVAL_DEGRADED: data.get("degraded", False),
    }
    if "mode" in data:
        found[semconv.RETRIEVAL_MODE] = data["mode"]
        found[semconv.RETRIEVAL_SHOWN] = sum(each.get("told") != "before" for each in results)
        found[semconv.RETRIEVAL_OMITTED] = data.get("omitted", 0)
    return found


def memory_facts(data: Mapping[str, Any]) -> Attributes:
    """The attributes of a change of a memory, from the data of its event: its operation and id, not its
    content."""
    return {
        semconv.MEMORY_OP: data["op"],
        semconv.MEMORY_ID: data["memory_id"],
        semconv.MEMORY_TYPE: data["kind"],
        semconv.MEMORY_QUARANTINED: data.get("quarantined", False),
        semconv.MEMORY_VERSION: data.get("version"),
        semconv.MEMORY_STATUS: data.get("status"),
    }


def artifact_facts(data: Mapping[str, Any]) -> Attributes:
    """The attributes of an artifact, from the data of its event: which it is, of what kind and how large; not
    what is in it, what it is called, or which type its source claims."""
    return {
        semconv.ARTIFACT_REF: data["ref"],
        semconv.ARTIFACT_SIZE: data["size"],
        semconv.ARTIFACT_KIND: data.get("kind"),
        semconv.ARTIFACT_LINES: data.get("lines"),
    }


def changer(actor: str | None, *, suggested: bool) -> str:
    """Who changes a memory, as a word that identifies no person: `model`, `keeper`, `tool` where it was
    `suggested`, or else `user`."""
    if actor in CHANGERS:
        return actor
    return "tool" if suggested else "user"


def turn_facts(turn: TurnFacts) -> dict[str, AttributeValue]:
    """The attributes of an `invoke_agent` span at its end. Its totals are not gen_ai.usage.*: backends add
    those up over the spans of a trace, and every token would count twice."""
    totals = turn.totals
    first_text = max(totals["ttft_ms"] - turn.silent_ms, 0) / 1000 if "ttft_ms" in totals else None
    found: dict[str, AttributeValue | None] = {
        semconv.OUTCOME: turn.outcome or semconv.UNFINISHED,
        semconv.LAST_SEQ: turn.last_seq,
        semconv.TURN_ITERATIONS: totals["iterations"],
        semconv.TURN_UNREPORTED: totals.get("usage_unreported", 0),
        semconv.TURN_TOOL_CALLS: turn.tool_calls if turn.whole else None,
        semconv.FINISH_REASONS: _finish_reasons(totals.get("stop_reason")),
        semconv.TURN_FIRST_TEXT: first_text,
        semconv.TURN_WAITED: turn.waited_ms / 1000 if turn.waited_ms else None,
        semconv.TURN_COST: totals.get("cost"),
    }
    if "usage" in totals:
        usage = Usage.model_validate(totals["usage"])
        found |= {
            semconv.TURN_INPUT: usage.total - usage.output_tokens,
            semconv.TURN_OUTPUT: usage.output_tokens,
            semconv.TURN_CACHE_READ: usage.cache_read_input_tokens,
            semconv.TURN_CACHE_WRITE: usage.cache_creation_input_tokens,
        }
    return known(found)


def _finish_reasons(stop_reason: str | None) -> list[str] | None:
    return None if stop_reason is None else [semconv.FINISH.get(stop_reason, stop_reason)]


def _usage_source(call: ModelCall) -> str:
    """Where the usage comes from. That of a call that was cut short is "partial": the turn
    counts it as not reported, as it does "none" of a call that had begun to answer."""
    if call.usage is None:
        return "none"
    return "partial" if call.stop_reason is None else "provider"


def _usage_facts(usage: Usage, *, dup: bool) -> dict[str, AttributeValue]:
    input_tokens = usage.total - usage.output_tokens
    found: dict[str, AttributeValue] = {
        semconv.USAGE_INPUT: input_tokens,
        semconv.USAGE_OUTPUT: usage.output_tokens,
        semconv.USAGE_CACHE_READ: usage.cache_read_input_tokens,
        semconv.USAGE_CACHE_WRITE: usage.cache_creation_input_tokens,
        semconv.USAGE_CACHE_CREATION: usage.cache_creation_input_tokens,
    }
    if dup:
        found |= {semconv.USAGE_PROMPT: input_tokens, semconv.USAGE_COMPLETION: usage.output_tokens}
    return found
