"""Every call of a model that is no answer, in a whole gateway over real sockets: in metrics, cost and spans,
whether it succeeds or fails."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import orjson
import pytest

from gateway.ids import root_span_id, trace_id_of
from gateway.memory.retrieval_gate import gate
from gateway.model.side_calls import Purpose
from tests.harness import Client, running_gateway, settings_for
from tests.loopback import served
from tests.telemetry.asked import ANSWERS, ASIDE, COST, INPUT, OUTPUT, Endpoint
from tests.telemetry.collector import Collector, about
from tests.telemetry.test_measured_gateway import scraped

pytestmark = pytest.mark.anyio

DURATION = "gen_ai_client_inference_duration_seconds_count"
TOKENS = "gen_ai_client_inference_usage_{}_tokens_total"
UNDECIDED = "明天开会"
"""A message of which the rules cannot tell whether it needs memories."""

Reply = httpx2.Response
Trigger = Callable[[Client], Awaitable[Reply]]


@asynccontextmanager
async def gateway(folder: Path) -> AsyncGenerator[tuple[Client, Endpoint]]:
    """A gateway that asks a model for everything it can be asked for, once each."""
    endpoint = Endpoint()
    async with served(endpoint.app, lifespan=False) as url:
        settings = settings_for(
            folder,
            url,
            model=ANSWERS,
            summary_model=ASIDE,
            memory_model=ASIDE,
            memory_control_model=ASIDE,
            artifact_summaries=True,
            model_attempts=1,
            first_byte_timeout=60.0,
            progress_timeout=60.0,
        )
        async with running_gateway(settings) as client:
            yield client, endpoint


async def compress(client: Client) -> Reply:
    session = await client.session()
    for _ in range(3):
        await client.chat("Tell me more. " + "And it goes on. " * 200, session_id=session)
    return await client.post(f"/api/sessions/{session}/compress")


async def summarise(client: Client) -> Reply:
    session = await client.session()
    await client.chat("hello", session_id=session)
    return await client.post("/api/session/summary", {"session_id": session})


async def learn(client: Client) -> Reply:
    message = {"role": "user", "content": "My dog is called Argos."}
    return await client.post("/api/memory/write", {"messages": [message], "is_own": True})


async def decide(client: Client) -> Reply:
    return await client.post("/api/memory/control", {"user_message": UNDECIDED, "message_count": 2})


async def look_at(client: Client) -> Reply:
    path, kind = "/api/artifacts", {"content-type": "text/plain"}
    made = await client.http.post(path, content="季度報告：收入上升。\n".encode() * 9, headers=kind)
    return await client.get(f"{path}/{made.json()['ref']}/compact")


SUMMARY = orjson.dumps({"goal": "Plan a trip."}).decode()
CASES: list[tuple[Purpose, Trigger, str]] = [
    ("compression", compress, SUMMARY),
    ("summary", summarise, SUMMARY),
    ("memory", learn, '{"memories": []}'),
    ("memory_control", decide, '{"needed": "no"}'),
    ("artifact_summary", look_at, "A report."),
]


@pytest.mark.parametrize(("purpose", "trigger", "text"), CASES, ids=[case[0] for case in CASES])
async def test_each_purpose_is_in_metrics_cost_and_spans(
    tmp_path: Path, collecting: Collector, purpose: Purpose, trigger: Trigger, text: str
) -> None:
    """A call that succeeds, one that the limit of tokens cuts off, one that breaks off, and one that never
    begins: what was reported is counted, the cost where it is known, and what went wrong by its code."""
    times: dict[str, int] = {}
    label = {"gateway_purpose": purpose, "gen_ai_request_model": ASIDE}
    async with gateway(tmp_path) as (client, endpoint):
        endpoint.text = text
        for way in ("answer", "limit", "cut", "busy"):
            endpoint.way, endpoint.asked = way, 0
            await trigger(client)
            times[way] = endpoint.asked
        durations = {
            error: await scraped(client, DURATION, error_type=error, **label)
            for error in ("answer_truncated", "upstream_truncated", "upstream_overloaded")
        }
        total = await scraped(client, DURATION, **label)
        cost = await scraped(client, "gateway_cost_USD_total", **label)
        read, written = [await scraped(client, TOKENS.format(kind), **label) for kind in ("input", "output")]
        unreported = await scraped(client, "gateway_usage_unreported_total")

    expected = times["answer"] + times["limit"]
    assert all(times.values()), times
    assert durations == {
        "answer_truncated": times["limit"],
        "upstream_truncated": times["cut"],
        "upstream_overloaded": times["busy"],
    }
    assert total == sum(times.values())
    assert cost == pytest.approx(expected * COST)
    assert (read, written) == ((expected + times["cut"]) * INPUT, expected * OUTPUT + times["cut"])
    assert unreported == times["cut"]

    spans = [span for span in collecting.named("chat") if about(span)["gateway.purpose"] == purpose]
    assert [about(span).get("error.type") for span in spans] == [
        *[None] * times["answer"],
        *["answer_truncated"] * times["limit"],
        *["upstream_truncated"] * times["cut"],
        *["upstream_overloaded"] * times["busy"],
    ]
    assert [about(span).get("gateway.cost_usd") for span in spans] == [
        *[COST] * expected,
        *[None] * (times["cut"] + times["busy"]),
    ]
    assert {span.name for span in spans} == {f"chat {ASIDE}"}


@pytest.mark.parametrize(
    ("trigger", "text"), [(trigger, text) for _, trigger, text in CASES if text.startswith("{")]
)
async def test_json_is_read_from_a_fence_with_a_sentence_around_it(
    tmp_path: Path, trigger: Trigger, text: str
) -> None:
    """Whoever asks for JSON gets it at the first attempt."""
    async with gateway(tmp_path) as (client, endpoint):
        endpoint.text = f"Here you are:\n\n```json\n{text}\n```\n\nAnything else?"
        reply = await trigger(client)

    assert reply.status_code in {200, 201}
    assert "no usable answer" not in reply.text
    assert endpoint.asked == 1


async def remembering(client: Client) -> None:
    """Something to recall, without which no message needs memories."""
    memory = {"content": "The user likes tea.", "type": "preference"}
    assert (await client.post("/api/memory", memory)).status_code == 201


async def test_a_call_for_a_turn_is_a_span_of_its_trace(tmp_path: Path, collecting: Collector) -> None:
    """With the ids of the turn; its tokens are not the turn's."""
    async with gateway(tmp_path) as (client, endpoint):
        endpoint.text = '{"needed": "no"}'
        await remembering(client)
        found = await client.chat(UNDECIDED)

    turn = found[0]["turn_id"]
    asked, answered = collecting.named("chat")
    assert [about(span)["gateway.purpose"] for span in (asked, answered)] == ["memory_control", "answer"]
    assert asked.trace_id.hex() == answered.trace_id.hex() == trace_id_of(turn)
    assert asked.parent_span_id.hex() == root_span_id(trace_id_of(turn))
    assert about(asked)["gateway.turn.id"] == turn
    assert about(asked)["session.id"] == found[0]["session_id"]
    assert found[-1]["data"]["usage"]["input_tokens"] == 10


async def test_the_call_of_a_compression_and_of_a_reading_belong_to_them(
    tmp_path: Path, collecting: Collector
) -> None:
    """Those that are a part of no work that has a trace are traces of their own."""
    async with gateway(tmp_path) as (client, endpoint):
        for _, trigger, text in CASES:
            endpoint.text = text
            await trigger(client)

    calls = {about(span)["gateway.purpose"]: span for span in collecting.named(f"chat {ASIDE}")}
    assert calls["compression"].parent_span_id == collecting.one("gateway.compression").span_id
    assert calls["memory"].parent_span_id == collecting.one("gateway.memory.learn").span_id
    for purpose in ("summary", "memory_control", "artifact_summary"):
        assert not calls[purpose].parent_span_id, purpose
    assert len({span.trace_id for span in calls.values()}) == len(CASES)
    assert not any("session.id" in about(span) for span in calls.values())


async def test_a_cancelled_call_counts(
    tmp_path: Path, collecting: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was asked and reported its input: it is no error, and what it cost is not known."""
    monkeypatch.setattr(gate, "ASKING_TIME", 60.0)
    label = {"gateway_purpose": "memory_control"}
    async with gateway(tmp_path) as (client, endpoint):
        endpoint.way = "hang"
        await remembering(client)
        session = await client.session()
        turn = (await client.begin(session, UNDECIDED))["turn_id"]
        await endpoint.hangs.wait()
        await client.post(f"/api/sessions/{session}/turns/{turn}/cancel")
        await client.all_frames(f"/api/sessions/{session}/events?turn_id={turn}")
        calls = await scraped(client, DURATION, **label)
        read = await scraped(client, TOKENS.format("input"), **label)
        cost = await scraped(client, "gateway_cost_USD_total", **label)
        unreported = await scraped(client, "gateway_usage_unreported_total")

    assert (calls, read, cost, unreported) == (1, INPUT, 0, 1)
    span = collecting.one(f"chat {ASIDE}")
    assert span.trace_id.hex() == trace_id_of(turn)
    assert about(span)["gateway.usage.source"] == "partial"
    assert "error.type" not in about(span)


async def test_a_turn_waits_for_a_slow_call_no_longer_than_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rules decide, the turn goes on, and the call is counted with the code of the limit."""
    monkeypatch.setattr(gate, "ASKING_TIME", 0.2)
    async with gateway(tmp_path) as (client, endpoint):
        endpoint.way = "hang"
        await remembering(client)
        found = await client.chat(UNDECIDED)
        late = await scraped(
            client, DURATION, gateway_purpose="memory_control", error_type="upstream_timeout"
        )

    assert found[-1]["data"]["status"] == "completed"
    assert late == 1
