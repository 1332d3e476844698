"""Every span against the conventions: names, kinds, what must be there and what may be.

The tables hold what open-telemetry/semantic-conventions-genai (development schema 1.42) and the HTTP
conventions say of the spans that we draw. What is ours begins with `gateway.`.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from gateway.telemetry import semconv
from tests.harness import Client, running_gateway
from tests.product import Settings, ToolContext, tool
from tests.stories.asking import Outbox, ask, parked
from tests.telemetry.collector import Collector, about, plain

pytestmark = pytest.mark.anyio

IDS = {"gen_ai.conversation.id": str, "session.id": str}
USAGE = {
    "gen_ai.usage.input_tokens": int,
    "gen_ai.usage.output_tokens": int,
    "gen_ai.usage.cache_read.input_tokens": int,
    "gen_ai.usage.cache_write.input_tokens": int,
}
SERVER = {"server.address": str, "server.port": int}
ANY = {"error.type": str}


@dataclass(frozen=True)
class Rule:
    """What a span must and may have besides `gateway.*`, by type, and the form of its name."""

    name: str
    kind: int
    required: dict[str, type]
    allowed: dict[str, type]
    operation: str | None = None


RULES = (
    Rule(
        r"invoke_agent gateway",
        Span.SPAN_KIND_INTERNAL,
        {"gen_ai.operation.name": str, "gen_ai.agent.name": str, "gen_ai.request.model": str, **IDS},
        {"user.id": str, "gen_ai.response.finish_reasons": list},
        "invoke_agent",
    ),
    Rule(
        r"chat demo-model",
        Span.SPAN_KIND_CLIENT,
        {
            "gen_ai.operation.name": str,
            "gen_ai.provider.name": str,
            "gen_ai.request.model": str,
            "gen_ai.request.stream": bool,
            **SERVER,
        },
        {
            **IDS,
            "gen_ai.agent.name": str,
            "gen_ai.request.max_tokens": int,
            "gen_ai.request.temperature": float,
            "gen_ai.conversation.compacted": bool,
            "gen_ai.response.id": str,
            "gen_ai.response.model": str,
            "gen_ai.response.finish_reasons": list,
            "gen_ai.response.time_to_first_chunk": float,
            "gen_ai.usage.cache_creation.input_tokens": int,
            **USAGE,
        },
        "chat",
    ),
    Rule(
        r"execute_tool \w+",
        Span.SPAN_KIND_INTERNAL,
        {
            "gen_ai.operation.name": str,
            "gen_ai.tool.name": str,
            "gen_ai.tool.call.id": str,
            "gen_ai.tool.type": str,
            **IDS,
        },
        {"gen_ai.agent.name": str},
        "execute_tool",
    ),
    Rule(
        r"retrieval (docs|memory)",
        Span.SPAN_KIND_CLIENT,
        {"gen_ai.operation.name": str, "gen_ai.data_source.id": str, **IDS},
        {"gen_ai.agent.name": str},
        "retrieval",
    ),
    Rule(r"gateway\.admission", Span.SPAN_KIND_INTERNAL, IDS, {}),
    Rule(r"gateway\.approval", Span.SPAN_KIND_INTERNAL, IDS, {"user.id": str}),
    Rule(r"gateway\.skill", Span.SPAN_KIND_INTERNAL, IDS, {}),
    Rule(r"gateway\.tool\.step", Span.SPAN_KIND_INTERNAL, IDS, {}),
    Rule(r"gateway\.artifact", Span.SPAN_KIND_INTERNAL, IDS, {}),
    Rule(r"gateway\.memory", Span.SPAN_KIND_INTERNAL, IDS, {}),
    Rule(r"gateway\.memory\.learn", Span.SPAN_KIND_INTERNAL, {"gen_ai.request.model": str}, {}),
    Rule(r"gateway\.compression", Span.SPAN_KIND_INTERNAL, {}, IDS),
    Rule(
        r"(GET|POST|DELETE) /api/[\w{}/]+",
        Span.SPAN_KIND_SERVER,
        {
            "http.request.method": str,
            "http.route": str,
            "http.response.status_code": int,
            "url.path": str,
            "url.scheme": str,
            **SERVER,
        },
        {"network.protocol.version": str},
    ),
)

EVENTS = {"gateway.retry", "gateway.first_chunk", "gateway.memory", "gateway.warning"}


@tool(effect="read_only")
async def gather(context: ToolContext) -> str:
    """Works in steps, of which one fails."""
    with context.step("收集", {"of": "everything"}) as step:
        step.output = ["one", "two"]
    with suppress(LookupError), context.step("sort"):
        raise LookupError
    return "gathered"


@tool(effect="read_only")
def dump(lines: int) -> str:
    """Gives more than a model should read, or than may be kept."""
    return "and so on\n" * lines


async def live(client: Client) -> None:
    """Turns that answer, use tools, keep aside, search, remember, read skills, ask a person, fail, are
    repeated, stopped, queued and compressed; and a conversation that is learned from."""
    session = await client.session()
    await client.chat("What is 17*23? And how do I resume a stream?", session_id=session)
    await client.chat("/fault http_529 once", session_id=session)
    await client.chat("/fault http_401", session_id=session)
    await client.chat("/call nothing {}\n/then\n/say so", session_id=session)
    script = '/call gather {}\n/call read_skill {"name": "hand-over"}\n/call read_skill {"name": "a b"}'
    await client.chat(f"{script}\n/then\n/say so", session_id=session)
    script = '/call dump {"lines": 9000}\n/call dump {"lines": 20000}\n/then\n/say so'
    await client.chat(script, session_id=session, attachments=[{"name": "a.txt", "text": "你好"}])
    await client.chat("Please remember that I like a plain design style.", session_id=session)
    message = {"role": "user", "content": "My dog is called Argos."}
    assert (
        await client.post("/api/memory/write", {"messages": [message], "is_own": True})
    ).status_code == 200
    asked = await parked(await ask(client, '/call send {"to": "Li Lei"}\n/then\n/say so', session=session))
    await asked.decide("deny")
    await asked.all_events()
    await client.begin(session, "/pieces 200\n/pace 20")
    second = (await client.begin(session, "/say queued", on_conflict="interrupt"))["turn_id"]
    await client.all_frames(f"/api/sessions/{session}/events?turn_id={second}")
    for _ in range(4):
        await client.chat("Tell me more. " + "And it goes on. " * 200, session_id=session)
    assert (await client.post(f"/api/sessions/{session}/compress")).status_code == 201
    await client.chat("/say and so on", session_id=session)


def rule_of(span: Span) -> Rule:
    (rule,) = [rule for rule in RULES if re.fullmatch(rule.name, span.name)]
    return rule


def check(span: Span) -> None:
    rule, found = rule_of(span), about(span)
    assert span.kind == rule.kind, span.name
    assert found.get("gen_ai.operation.name") == rule.operation, span.name
    known = rule.required | rule.allowed | ANY
    for name, value in found.items():
        if not name.startswith("gateway."):
            assert name in known, f"{span.name}: {name}"
            assert type(value) is known[name], f"{span.name}: {name} is {value!r}"
    assert not set(rule.required) - set(found), span.name
    check_states(span, found)


def check_states(span: Span, found: dict[str, Any]) -> None:
    """What holds for every span: errors have a type and no words, ids agree, times have an order."""
    is_error = span.status.code == Status.STATUS_CODE_ERROR
    assert is_error == ("error.type" in found), span.name
    assert not span.status.message
    assert found.get("session.id") == found.get("gen_ai.conversation.id")
    assert ("session.id" in found) + ("gateway.session.id" in found) <= 1
    beside = found.get("gateway.purpose", "answer") != "answer"
    assert ("session.id" in found) or not span.parent_span_id or beside, span.name
    assert span.start_time_unix_nano <= span.end_time_unix_nano
    assert {event.name for event in span.events} <= EVENTS
    assert not any(name.startswith("exception.") for event in span.events for name in plain(event.attributes))


async def test_every_span_of_a_busy_gateway_conforms(settings: Settings, collecting: Collector) -> None:
    """Names, kinds, attributes and their types of everything a collector gets."""
    settings = settings.model_copy(update={"model": "demo-model", "artifact_max_size": 150_000})
    async with running_gateway(settings, gather, dump, *Outbox().tools) as client:
        await live(client)

    for span in collecting.spans:
        check(span)
    kinds = {rule_of(span).name for span in collecting.spans}
    assert kinds == {rule.name for rule in RULES}
    outcomes = {about(span)["gateway.turn.outcome"] for span in collecting.named("invoke_agent")}
    assert outcomes == {"completed", "failed", "cancelled"}
    assert {event.name for span in collecting.spans for event in span.events} == EVENTS


async def test_tokens_are_counted_once_and_as_the_conventions_want(
    settings: Settings, collecting: Collector
) -> None:
    """No usage on the root; the calls' input includes what came from or went to the cache, and they add up to
    what done says."""
    async with running_gateway(settings) as client:
        found = await client.chat("What is 17*23?")

    total = found[-1]["data"]["usage"]
    chats = [about(span) for span in collecting.named("chat")]
    cached = total["cache_read_input_tokens"] + total["cache_creation_input_tokens"]
    assert len(chats) == 2
    assert sum(chat["gen_ai.usage.input_tokens"] for chat in chats) == total["input_tokens"] + cached
    assert sum(chat["gen_ai.usage.output_tokens"] for chat in chats) == total["output_tokens"]
    root = about(collecting.one("invoke_agent"))
    assert not any(name.startswith("gen_ai.usage") for name in root)
    assert root["gateway.turn.input_tokens"] == total["input_tokens"] + cached


def test_our_own_names_are_ours() -> None:
    """Each name is of the conventions' or OpenInference's families, or begins with gateway."""
    families = ("gen_ai.", "gateway.", "http.", "url.", "server.", "network.", "input.", "output.")
    names = {value for name, value in vars(semconv).items() if name.isupper() and isinstance(value, str)}

    dotted = {name for name in names if "." in name}
    assert {name for name in dotted if not name.startswith(families)} == {
        "session.id",
        "user.id",
        "error.type",
    }
