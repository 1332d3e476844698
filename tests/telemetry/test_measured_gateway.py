"""A whole gateway, and what its /metrics says of what was done to it."""

import asyncio
from pathlib import Path
from time import time

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from gateway.storage.replicas.single_process import SoleReplica
from tests.harness import Client, running_gateway, the
from tests.loopback import TIMEOUT
from tests.product import Settings
from tests.telemetry.collector import Collector, about
from tests.telemetry.prometheus import needs_prometheus, running_prometheus

pytestmark = pytest.mark.anyio

OPENMETRICS = {"accept": "application/openmetrics-text;version=1.0.0"}


async def scraped(client: Client, name: str, **labels: str) -> float:
    """The sum of the samples of that name whose labels include these."""
    text = (await client.get("/metrics", **OPENMETRICS)).text
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


@needs_prometheus
async def test_a_real_prometheus_finds_the_trace_behind_a_number(settings: Settings, tmp_path: Path) -> None:
    """Under load it scrapes everything, and its examples name the traces that `turn_start` announced."""
    traces: set[str] = set()
    messages = ("What is 17*23?", "hello", "/fault http_400", "/fault http_429_ms once")
    slow = "histogram_quantile(0.95, sum by (le) (gen_ai_client_inference_duration_seconds_bucket))"
    async with running_gateway(settings) as client, running_prometheus(tmp_path, client.url) as prometheus:
        for events in await asyncio.gather(*(client.chat(message) for message in messages * 3)):
            traces.add(the(events, "turn_start")["trace_id"])
        await prometheus.until("sum(gateway_turns_total)", 12)
        hour = {"start": str(time() - 1800), "end": str(time() + 1800)}
        found = await prometheus.ask(
            "query_exemplars", query="gen_ai_invoke_agent_duration_seconds_bucket", **hour
        )
        targets = await prometheus.value("sum(target_info)")
        quantile = await prometheus.value(slow)
        failed = await prometheus.value('sum(gateway_turns_total{gateway_turn_outcome="failed"})')
        retried = await prometheus.value("sum(gateway_upstream_retries_total)")

    linked = {exemplar["labels"]["trace_id"] for series in found for exemplar in series["exemplars"]}
    assert linked
    assert linked <= traces
    assert targets == 1
    assert quantile is not None
    assert failed == 3
    assert retried


async def test_streams_are_told_apart_by_how_they_began(client: Client) -> None:
    """A turn's own request and a follower are live, one with a cursor resumes, one without a future replays,
    and the second turn of a session is no resume."""
    session = await client.session()
    for _ in range(2):
        await client.all_frames(f"/api/sessions/{session}/turns", {"message": "hello"})
    await client.all_frames(f"/api/sessions/{session}/events?follow=0")
    turn = (await client.begin(session, "hello"))["turn_id"]
    path = f"/api/sessions/{session}/events?turn_id={turn}"
    await client.all_frames(path)
    await client.all_frames(path, headers={"last-event-id": "1"})

    for kind, count in {"live": 3, "replay": 1, "resume": 1}.items():
        assert await scraped(client, "gateway_stream_opened_total", gateway_stream_kind=kind) == count, kind
    assert await scraped(client, "gateway_client_time_to_first_event_seconds_count") == 2
    assert await scraped(client, "gateway_stream_delivery_lag_seconds_count") > 0
    assert await scraped(client, "gateway_stream_active") == 0
    done = await scraped(client, "gateway_stream_events_sent_total", gateway_event_type="done")
    assert done == 2 + 2 + 1 + 1


async def test_a_reader_that_leaves_is_told_apart_from_a_turn_that_stops(client: Client) -> None:
    """The stream ends for its client, the turn completes all the same."""
    session = await client.session()
    async with client.frames(f"/api/sessions/{session}/turns", {"message": "/pieces 40 /pace 10"}) as frames:
        async for frame in frames:
            if frame.event == "text":
                break
    async with asyncio.timeout(TIMEOUT):
        while not await scraped(client, "gateway_turns_total", gateway_turn_outcome="completed"):
            await asyncio.sleep(0.05)
        while not await scraped(client, "gateway_stream_disconnects_total", gateway_reason="client"):
            await asyncio.sleep(0.05)


async def test_requests_are_timed_by_route_and_streams_are_not(client: Client) -> None:
    """The path's template is the label, whatever ids are in it; a stream is not a slow request."""
    session = await client.session()
    await client.all_frames(f"/api/sessions/{session}/turns", {"message": "hello"})
    await client.get(f"/api/sessions/{session}")
    await client.get("/api/sessions/nobody")
    await client.get("/no/such/path")

    counted = "http_server_request_duration_seconds_count"
    read = {"http_route": "/api/sessions/{session_id}", "http_request_method": "GET"}
    assert await scraped(client, counted, http_response_status_code="200", **read) == 1
    assert await scraped(client, counted, http_response_status_code="404", **read) == 1
    assert await scraped(client, counted, http_route="/api/sessions/{session_id}/turns") == 0
    assert session not in (await client.get("/metrics")).text
    assert "/no/such" not in (await client.get("/metrics")).text


async def test_turns_that_wait_are_seen_waiting(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The depth of the queue while they wait, and how long they did when they have begun."""
    monkeypatch.setattr(SoleReplica, "every", 0.02)
    async with running_gateway(settings) as client, asyncio.timeout(TIMEOUT):
        session = await client.session()
        await client.begin(session, "/pieces 200 /pace 10")
        for _ in range(3):
            await client.begin(session, "hello", on_conflict="queue")
        while await scraped(client, "gateway_admission_queue_depth") < 3:
            await asyncio.sleep(0.01)
        assert await scraped(client, "gateway_turn_active") == 1
        while await scraped(client, "gateway_turns_total") < 4:
            await asyncio.sleep(0.05)
        while await scraped(client, "gateway_admission_queue_depth"):
            await asyncio.sleep(0.01)
        assert await scraped(client, "gateway_admission_wait_seconds_count") == 4
        assert await scraped(client, "gateway_admission_wait_seconds_sum") > 0


async def test_the_queue_of_a_former_process_is_counted(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restart those that still wait are in the gauge, and leave it one by one."""
    monkeypatch.setattr(SoleReplica, "every", 0.02)
    async with running_gateway(settings) as client:
        session = await client.session()
        await client.begin(session, "/pieces 400 /pace 20")
        for _ in range(2):
            await client.begin(session, "/pieces 10 /pace 20", on_conflict="queue")

    async with running_gateway(settings) as client, asyncio.timeout(TIMEOUT):
        assert await scraped(client, "gateway_admission_queue_depth") == 2
        turn = (await client.get(f"/api/sessions/{session}/snapshot")).json()["open_turn"]
        await client.post(f"/api/sessions/{session}/turns/{turn['turn_id']}/cancel")
        while await scraped(client, "gateway_admission_queue_depth"):
            await asyncio.sleep(0.05)


async def test_the_process_tells_of_its_log_and_its_loop(client: Client) -> None:
    """Transactions of the log with their events, readers of it, and how late the event loop is."""
    await client.chat("hello")
    sent = await scraped(client, "gateway_stream_events_sent_total")

    assert await scraped(client, "gateway_log_flush_events_sum") == sent
    assert await scraped(client, "gateway_log_flush_duration_seconds_count") > 0
    assert await scraped(client, "gateway_log_flush_failures_total") == 0
    assert await scraped(client, "gateway_log_readers") == 0
    text = (await client.get("/metrics")).text
    assert 'gateway_documents{gateway_document_state="used"} 0.0' in text
    assert 'gateway_background_failing{gateway_task="documents"} 0.0' in text
    async with asyncio.timeout(TIMEOUT):
        while not await scraped(client, "gateway_event_loop_lag_seconds_count"):
            await asyncio.sleep(0.05)


async def test_the_archive_of_a_session_is_timed_and_drawn(settings: Settings, collecting: Collector) -> None:
    """Once for each session that moved, with the code where one could not, and never where nothing was."""
    counted = "gateway_archive_write_duration_seconds_count"
    async with running_gateway(settings) as client:
        session = (await client.chat("hello"))[0]["session_id"]
        for _ in range(2):
            assert (await client.post(f"/api/sessions/{session}/archive")).status_code == 200
        busy = await client.session()
        turn = (await client.begin(busy, "/pieces 400 /pace 20"))["turn_id"]
        async with client.frames(f"/api/sessions/{busy}/events?turn_id={turn}") as frames:
            while (await anext(frames)).event != "text":
                pass
        refused = await client.post(f"/api/sessions/{busy}/archive")
        moved = await scraped(client, counted) - await scraped(client, counted, error_type="turn_in_progress")
        failed = await scraped(client, counted, error_type="turn_in_progress")

    assert refused.status_code == 409
    assert (moved, failed) == (1, 1)
    spans = collecting.named("gateway.archive")
    assert [about(span)["gateway.session.id"] for span in spans] == [session, busy]


async def test_metrics_are_in_the_form_that_is_asked_for(client: Client) -> None:
    """The text format by default; OpenMetrics, with exemplars, for a Prometheus that stores them."""
    await client.chat("hello")

    plain, rich = await client.get("/metrics"), await client.get("/metrics", **OPENMETRICS)

    assert plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert rich.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert "trace_id=" in rich.text
    assert "trace_id=" not in plain.text


async def test_what_is_remembered_is_counted_by_who_did_it(client: Client) -> None:
    """A user over HTTP, the model with its tool, the keeper of a conversation; and what turns recalled."""
    made = await client.post("/api/memory", {"content": "喜欢简约的设计风格", "type": "preference"})
    message = {"role": "user", "content": "My dog is called Argos."}
    assert (
        await client.post("/api/memory/write", {"messages": [message], "is_own": True})
    ).status_code == 200
    found = await client.chat("Please remember that I drink tea, not coffee.")
    assert (await client.http.delete(f"/api/memory/{made.json()['id']}")).status_code == 204

    changes = "gateway_memory_changes_total"
    for op, by in (("remembered", "user"), ("remembered", "keeper"), ("remembered", "model")):
        assert await scraped(client, changes, gateway_memory_op=op, gateway_memory_by=by) == 1, by
    assert await scraped(client, changes, gateway_memory_op="forgotten", gateway_memory_by="user") == 1
    assert (await client.post(f"/api/memory/{made.json()['id']}/erase")).status_code == 204
    assert await scraped(client, changes, gateway_memory_op="erased", gateway_memory_by="user") == 1
    assert await scraped(client, "gateway_memory_learning_duration_seconds_count") == 1
    recalls = sum(event["type"] == "retrieval" for event in found)
    assert await scraped(client, "gateway_memory_recalls_total") == recalls > 0
