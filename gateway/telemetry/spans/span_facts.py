"""The attributes of spans of model calls, tool calls and turns, and of their owner."""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any, Final

from opentelemetry.util.types import AttributeValue

from gateway.messages import Usage
from gateway.model.calls import ModelCall
from gateway.telemetry import semconv
from gateway.telemetry.facts import Call, TurnFacts
from gateway.telemetry.spans.traces import Attributes
from gateway.telemetry.tool_runs import ToolRun

CHANGERS: Final = ("model", "keeper")
"""Actors of changes that are no people and no tools (`memory.memories.Attribution`)."""


def ids_of(turn: TurnFacts) -> Attributes:
    """What every span of a turn has."""
    return turn_ids(turn.session_id, turn.id)


def turn_ids(session_id: str, turn_id: str) -> Attributes:
    return {semconv.CONVERSATION: session_id, semconv.SESSION: session_id, semconv.TURN: turn_id}


def pseudonym(user: str, salt: str) -> str:
    """The same name for the same user under the same salt, from which the user cannot be found: 16 hex
    digits."""
    return hmac.new(salt.encode(), user.encode(), hashlib.sha256).hexdigest()[:16]


def call_facts(call: ModelCall, *, dup: bool) -> Attributes:
    """The attributes of a `chat` span at its end; with `dup` under the older names as well."""
    found: dict[str, AttributeValue] = {
        semconv.ATTEMPTS: call.attempts,
        semconv.USAGE_SOURCE: _usage_source(call),
    }
    if call.stop_reason is not None:
        found[semconv.FINISH_REASONS] = [semconv.FINISH.get(call.stop_reason, call.stop_reason)]
        found[semconv.STOP_REASON] = call.stop_reason
    if call.response_id is not None:
        found[semconv.RESPONSE_ID] = call.response_id
    if call.response_model is not None:
        found[semconv.RESPONSE_MODEL] = call.response_model
    if (seconds := call.seconds_to_first_chunk) is not None:
        found[semconv.TIME_TO_FIRST_CHUNK] = seconds
    if call.cost is not None:
        found[semconv.CALL_COST] = call.cost
    if call.usage is not None:
        found |= _usage_facts(call.usage, dup=dup)
    return found


def answer_facts(call: Call) -> Attributes:
    """Further attributes of the `chat` span of a turn."""
    found: dict[str, AttributeValue] = {
        semconv.TEXT_PIECES: call.text_deltas,
        semconv.THINKING_PIECES: call.thinking_deltas,
        semconv.FIRST_SEQ: call.first_seq,
        semconv.LAST_SEQ: call.last_seq,
    }
    if call.prefix_hash is not None:
        found[semconv.PREFIX_HASH] = call.prefix_hash
    if call.components is not None:
        found[semconv.COMPONENTS] = [f"{name} {digest}" for name, digest in call.components.items()]
    return found


def retrieval_facts(data: Mapping[str, Any]) -> Attributes:
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
    found: dict[str, AttributeValue] = {
        semconv.MEMORY_OP: data["op"],
        semconv.MEMORY_ID: data["memory_id"],
        semconv.MEMORY_TYPE: data["kind"],
        semconv.MEMORY_QUARANTINED: data.get("quarantined", False),
    }
    for name, attribute in (("version", semconv.MEMORY_VERSION), ("status", semconv.MEMORY_STATUS)):
        if name in data:
            found[attribute] = data[name]
    return found


def artifact_facts(data: Mapping[str, Any]) -> Attributes:
    """The attributes of an artifact, from the data of its event: which it is, of what kind and how large; not
    what is in it, what it is called, or which type its source claims."""
    found: dict[str, AttributeValue] = {
        semconv.ARTIFACT_REF: data["ref"],
        semconv.ARTIFACT_SIZE: data["size"],
    }
    for name, attribute in (("kind", semconv.ARTIFACT_KIND), ("lines", semconv.ARTIFACT_LINES)):
        if name in data:
            found[attribute] = data[name]
    return found


def changer(actor: str | None, *, suggested: bool) -> str:
    """Who changes a memory, as a word that names nobody: `model`, `keeper`, `tool` where it was `suggested`,
    or else `user`."""
    if actor in CHANGERS:
        return actor
    return "tool" if suggested else "user"


def run_facts(run: ToolRun) -> Attributes:
    """The attributes of an `execute_tool` span at its end."""
    found: dict[str, AttributeValue] = {semconv.LAST_SEQ: run.last_seq}
    if run.status is not None:
        found[semconv.TOOL_STATUS] = run.status
    if run.suggested:
        found[semconv.SUGGESTIONS] = len(run.suggested)
    return found


def turn_facts(turn: TurnFacts) -> Attributes:
    """The attributes of an `invoke_agent` span at its end. Its totals are not gen_ai.usage.*: backends add
    those up over the spans of a trace, and every token would count twice."""
    totals = turn.totals
    found: dict[str, AttributeValue] = {
        semconv.OUTCOME: turn.outcome or semconv.UNFINISHED,
        semconv.LAST_SEQ: turn.last_seq,
        semconv.TURN_ITERATIONS: totals["iterations"],
        semconv.TURN_UNREPORTED: totals.get("usage_unreported", 0),
    }
    if turn.whole:
        found[semconv.TURN_TOOL_CALLS] = turn.tool_calls
    if "stop_reason" in totals:
        found[semconv.FINISH_REASONS] = [semconv.FINISH.get(totals["stop_reason"], totals["stop_reason"])]
    if "ttft_ms" in totals:
        found[semconv.TURN_FIRST_TEXT] = max(totals["ttft_ms"] - turn.silent_ms, 0) / 1000
    if turn.waited_ms:
        found[semconv.TURN_WAITED] = turn.waited_ms / 1000
    if "cost" in totals:
        found[semconv.TURN_COST] = totals["cost"]
    if "usage" in totals:
        usage = Usage.model_validate(totals["usage"])
        found |= {
            semconv.TURN_INPUT: usage.total - usage.output_tokens,
            semconv.TURN_OUTPUT: usage.output_tokens,
            semconv.TURN_CACHE_READ: usage.cache_read_input_tokens,
            semconv.TURN_CACHE_WRITE: usage.cache_creation_input_tokens,
        }
    return found


def lost_facts(turn: TurnFacts) -> Attributes:
    """The attributes of an `invoke_agent` span whose turn is no longer followed."""
    return {semconv.OUTCOME: semconv.UNFINISHED, semconv.LAST_SEQ: turn.last_seq}


def _usage_source(call: ModelCall) -> str:
    """Where the usage comes from. That of a call that was cut short is "partial": the turn
    counts it as not reported, as it does "none" of a call that had begun to answer."""
    if call.usage is None:
        return "none"
    return "partial" if call.stop_reason is None else "provider"


def _usage_facts(usage: Usage, *, dup: bool) -> Attributes:
    input_tokens = usage.total - usage.output_tokens
    found: dict[str, AttributeValue] = {
        semconv.USAGE_INPUT: input_tokens,
        semconv.USAGE_OUTPUT: usage.output_tokens,
        semconv.USAGE_CACHE_READ: usage.cache_read_input_tokens,
        semconv.USAGE_CACHE_WRITE: usage.cache_creation_input_tokens,
        semconv.USAGE_CACHE_CREATION: usage.cache_creation_input_tokens,
    }
    if dup:
        found |= {
            semconv.USAGE_PROMPT: input_tokens,
            semconv.USAGE_COMPLETION: usage.output_tokens,
        }
    return found
