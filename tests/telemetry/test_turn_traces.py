"""What becomes of a turn, as its trace tells it to a collector."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from gateway.ids import trace_id_of
from tests.harness import TIMEOUT, events, running_gateway, settings_for, the, types
from tests.product import Done, Settings
from tests.stories.asking import Outbox, ask, parked
from tests.telemetry.collector import Collector, about, links_of, place, plain

pytestmark = pytest.mark.anyio


async def test_a_reader_that_leaves_is_told_from_a_turn_that_is_stopped(
    settings: Settings, collecting: Collector
) -> None:
    """The stream says disconnected and the turn completed; a stopped turn says cancelled, and its stream was
    complete. Neither is an error."""
    async with running_gateway(settings) as client:
        session = await client.session()
        turn = (await client.begin(session, "/pieces 40\n/pace 10"))["turn_id"]
        path = f"/api/sessions/{session}/events?turn_id={turn}"
        async with client.frames(path) as frames:
            async for frame in frames:
                if frame.event == "text":
                    break
        await client.all_frames(path)
        stopped = (await client.begin(session, "/pieces 500\n/pace 20"))["turn_id"]
        async with client.frames(f"/api/sessions/{session}/events?turn_id={stopped}") as frames:
            async for frame in frames:
                if frame.event == "text":
                    await client.post(f"/api/sessions/{session}/turns/{stopped}/cancel")

    left, stayed, cancelled = map(about, collecting.named("GET /api/sessions/{session_id}/events"))
    assert (left["gateway.stream.outcome"], left["gateway.stream.close_reason"]) == ("disconnected", "client")
    assert stayed["gateway.stream.outcome"] == cancelled["gateway.stream.outcome"] == "completed"
    roots = collecting.named("invoke_agent")
    assert [about(root)["gateway.turn.outcome"] for root in roots] == ["completed", "cancelled"]
    assert all(span.status.code == Status.STATUS_CODE_UNSET for span in collecting.spans)


async def test_a_turn_goes_on_in_its_trace_after_a_restart(settings: Settings, collecting: Collector) -> None:
    """The second process ends what the first one left: one root, from the turn's start to its end, and a
    model call that tells of the attempt that was lost."""
    async with running_gateway(settings) as client:
        session = await client.session()
        turn = (await client.begin(session, "/pieces 60\n/pace 30"))["turn_id"]
        async with client.frames(f"/api/sessions/{session}/events?turn_id={turn}") as frames:
            async for frame in frames:
                if frame.event == "text":
                    break
    async with running_gateway(settings) as client:
        found = events(await client.all_frames(f"/api/sessions/{session}/events?turn_id={turn}"))

    assert "iteration_superseded" in types(found)
    root, chat = collecting.one("invoke_agent"), collecting.one("chat")
    assert root.trace_id.hex() == chat.trace_id.hex() == the(found, "turn_start")["trace_id"]
    assert root.start_time_unix_nano // 10**6 == found[0]["ts"]
    assert root.end_time_unix_nano // 10**6 == found[-1]["ts"]
    assert about(root)["gateway.turn.resumed"] is True
    assert chat.parent_span_id == root.span_id
    assert plain(chat.events[0].attributes)["error.type"] == "server_restart"
    assert about(chat)["gateway.upstream.attempts"] == 2


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_turn_that_waits_for_a_person_is_one_trace(
    settings: Settings, collecting: Collector, restarts: bool
) -> None:
    """Its root, its call and the question last over the wait, also from one process to the next."""
    outbox = Outbox()
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(running_gateway(settings, *outbox.tools))
        asked = await parked(await ask(client, '/call send {"to": "李雷"}\n/then\n/say over'))
        if restarts:
            await stack.aclose()
            client = await stack.enter_async_context(running_gateway(settings, *outbox.tools))
        await asked.decide("approve", client=client)
        found = await asked.all_events(client)

    at = {event["type"]: event["ts"] for event in found}
    root, call = collecting.one("invoke_agent"), collecting.one("execute_tool")
    question = collecting.one("gateway.approval")
    assert {span.trace_id.hex() for span in (root, call, question)} == {the(found, "turn_start")["trace_id"]}
    assert (call.parent_span_id, question.parent_span_id) == (root.span_id, call.span_id)
    assert milliseconds(root) == (found[0]["ts"], found[-1]["ts"])
    assert milliseconds(call) == (at["tool_call"], at["tool_result"])
    assert milliseconds(question) == (at["approval_request"], at["approval_response"])
    facts = about(root)
    waited = (at["approval_response"] - at["approval_request"]) / 1000
    assert facts["gateway.turn.waited"] == waited > 0
    assert facts.get("gateway.turn.resumed", False) is restarts
    assert bool(root.links) is not restarts  # who asked is not in the log
    assert about(question)["gateway.approval.by"] == "user"
    assert len(collecting.named("chat")) == 2


def milliseconds(span: Span) -> tuple[int, int]:
    return span.start_time_unix_nano // 10**6, span.end_time_unix_nano // 10**6


async def test_a_turn_that_waits_shows_it_in_log_and_trace(settings: Settings, collecting: Collector) -> None:
    """turn_start tells how long it waited, and the trace has a span of that length."""
    async with running_gateway(settings) as client:
        session = await client.session()
        await client.begin(session, "/pieces 10\n/pace 20")
        second = (await client.begin(session, "/say two", on_conflict="queue"))["turn_id"]
        found = events(await client.all_frames(f"/api/sessions/{session}/events?turn_id={second}"))

    waited = collecting.one("gateway.admission")
    ms = the(found, "turn_start")["queued_ms"]
    assert (waited.end_time_unix_nano - waited.start_time_unix_nano) // 10**6 == ms > 1
    assert waited.trace_id.hex() == trace_id_of(second)
    posts = collecting.named("POST /api/sessions/{session_id}/turns")
    assert [links_of(root)[0][:2] for root in collecting.named("invoke_agent")] == [
        place(post) for post in posts
    ]


async def test_clients_are_told_where_to_look_and_how_long_the_first_text_took(
    tmp_path: Any, demo_url: str
) -> None:
    """turn_start has the link of the operator's template, done has usage and the time to the first text."""
    template = "https://traces.example/trace/{trace_id}?org=1"
    settings = settings_for(tmp_path, demo_url, trace_url=template, cors_origins=("https://app.example",))
    async with running_gateway(settings) as client:
        found = await client.chat("/think hm\n/say Hello\n/pace 5")
        headers = {"origin": "https://app.example", "access-control-request-method": "POST"}
        asked = {**headers, "access-control-request-headers": "traceparent,content-type"}
        preflight = await client.http.options("/api/chat", headers=asked)
        answer = await client.get("/api/sessions", origin="https://app.example")

    start, done = the(found, "turn_start"), Done.model_validate(the(found, "done"))
    assert start["trace_url"] == template.format(trace_id=start["trace_id"])
    first = next(event["ts"] for event in found if event["type"] == "text")
    assert done.ttft_ms == first - found[0]["ts"]
    assert done.usage is not None
    assert preflight.status_code == 200
    assert "traceparent" in preflight.headers["access-control-allow-headers"]
    assert "server-timing" in answer.headers["access-control-expose-headers"]


async def test_a_compression_that_somebody_asked_for_is_linked_to_the_request(
    settings: Settings, collecting: Collector
) -> None:
    """It is a trace of its own that names the operation of its events."""
    async with running_gateway(settings) as client:
        found = await client.chat("My cat is called Tofu. " + "It is a long story. " * 200)
        session = found[0]["session_id"]
        for _ in range(4):
            await client.chat("Tell me more. " + "And it goes on. " * 200, session_id=session)
        response = await client.post(f"/api/sessions/{session}/compress")
        seen = [event for event in await client.events(session) if event["type"] == "compression"]

    assert response.status_code == 201, response.text
    span = collecting.one("gateway.compression")
    assert span.trace_id.hex() == trace_id_of(seen[0]["turn_id"])
    post = collecting.one("POST /api/sessions/{session_id}/compress")
    assert links_of(span) == [(*place(post), "triggered_by")]
    assert about(span)["gateway.compression.tokens_after"] == seen[-1]["data"]["tokens_after"]


@pytest.mark.parametrize("how", ["down", "slow", "refusing"])
async def test_a_turn_does_not_care_for_the_collector(
    settings: Settings, collector: Collector, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Down, slow or refusing: turns run and end as ever, and what is lost is counted."""
    endpoint = f"{collector.url}/v1/traces" if how != "down" else "http://127.0.0.1:9/v1/traces"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", endpoint)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "8")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    collector.status = 400
    if how == "slow":
        collector.answers.clear()
    async with running_gateway(settings) as client:
        for _ in range(6):
            found = await client.chat("What is 17*23?")
            assert the(found, "done")["status"] == "completed"
        tracing = client.app.state.telemetry.tracing
        async with asyncio.timeout(TIMEOUT):
            # Spans may also have found the queue full: it depends on how fast the turns are.
            while not tracing.export.lost["export_failed"]:
                await asyncio.sleep(0.02)

    assert not collector.traces


async def test_a_trace_says_by_which_client_its_turn_was_asked_for(
    settings: Settings, collecting: Collector
) -> None:
    """The root and its request have the name of the adapter; our own routes have none."""
    async with running_gateway(settings) as client:
        said = [{"id": "m", "role": "user", "content": "/say hi"}]
        await client.post("/ag-ui", {"threadId": "s", "messages": said})
        await client.chat("/say hi", session_id="s")

    roots = [about(root).get("gateway.dialect") for root in collecting.named("invoke_agent")]
    requests = [about(collecting.one(f"POST {path}")) for path in ("/ag-ui", "/api/chat")]
    assert roots == [each.get("gateway.dialect") for each in requests] == ["ag-ui", None]
