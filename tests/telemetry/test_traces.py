"""Traces of a whole gateway, as a collector gets them."""

import http.server
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager

import httpx2
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from gateway.ids import root_span_id, span_id_of, trace_id_of
from tests.harness import events, running_gateway, the
from tests.product import Settings, ToolContext, tool
from tests.telemetry.collector import Collector, about, links_of, place

pytestmark = pytest.mark.anyio

CLIENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def test_a_turn_and_the_request_that_asked_are_linked_both_ways(
    settings: Settings, collecting: Collector
) -> None:
    """The turn is a trace of its own, since it outlives its request; each names the other."""
    async with running_gateway(settings) as client:
        session = await client.session()
        turn = (await client.begin(session, "What is 17*23?"))["turn_id"]
        found = events(await client.all_frames(f"/api/sessions/{session}/events?turn_id={turn}"))

    post = collecting.one("POST /api/sessions/{session_id}/turns")
    root = collecting.one("invoke_agent")
    trace_id = the(found, "turn_start")["trace_id"]
    assert root.trace_id.hex() == trace_id == trace_id_of(turn)
    assert not root.parent_span_id
    assert links_of(root) == [(*place(post), "triggered_by")]
    assert about(root)["gateway.request.trace_id"] == post.trace_id.hex()
    assert links_of(post) == [(*place(root), "turn")]
    assert about(post)["gateway.turn.trace_id"] == trace_id
    assert about(post)["gateway.turn.id"] == turn
    assert about(post)["http.response.status_code"] == 202
    assert post.kind == Span.SPAN_KIND_SERVER
    following = collecting.one("GET /api/sessions/{session_id}/events")
    assert links_of(following) == [(*place(root), "turn")]
    assert {
        "gateway.stream.kind": "live",
        "gateway.stream.from_seq": 0,
        "gateway.stream.events_sent": len(found),
        "gateway.stream.outcome": "completed",
        "gateway.stream.close_reason": "done",
        "gateway.session.id": session,
    }.items() <= about(following).items()


async def test_every_event_leads_to_its_span_and_back(settings: Settings, collecting: Collector) -> None:
    """From done and from any other event by ids alone; from a span by the seqs it covers."""
    async with running_gateway(settings) as client:
        found = await client.chat("What is 17*23? And what time is it?")

    spans = {span.span_id.hex(): span for span in collecting.spans}
    trace_id = trace_id_of(found[-1]["turn_id"])
    assert spans[root_span_id(trace_id)].name == "invoke_agent gateway"
    for event in found:
        part = None
        if "tool_call_id" in event:
            part = f"tool_call {event['tool_call_id']}"
        elif event["type"] in {"text", "iteration_start", "iteration_end"}:
            part = f"iteration {event['iteration']}"
        if part is not None:
            span = spans[span_id_of(trace_id, part)]
            covered = about(span)
            first = covered["gateway.session.event_seq.first"]
            assert first <= event["seq"] <= covered["gateway.session.event_seq.last"]
            assert span.trace_id.hex() == trace_id


@pytest.mark.parametrize("way", ["header", "query"])
async def test_a_clients_trace_is_linked_and_not_joined(
    settings: Settings, collecting: Collector, way: str
) -> None:
    """Anybody can send a traceparent: it neither becomes our parent nor decides what is sampled. An
    EventSource sends it in the query."""
    headers = {"traceparent": CLIENT, "baggage": "user=mallory"} if way == "header" else {}
    query = f"?traceparent={CLIENT}" if way == "query" else ""
    async with running_gateway(settings) as client:
        response = await client.get(f"/api/sessions{query}", **headers)

    span = collecting.one("GET /api/sessions")
    assert response.status_code == 200
    assert span.trace_id.hex() != CLIENT[3:35]
    assert not span.parent_span_id
    assert links_of(span) == [(CLIENT[3:35], CLIENT[36:52], "client")]
    assert "mallory" not in str(span)
    assert (
        response.headers["server-timing"]
        == f'traceparent;desc="00-{span.trace_id.hex()}-{span.span_id.hex()}-01"'
    )


@pytest.mark.parametrize(
    "traceparent",
    [
        "nonsense",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-" + "a" * 5000,
    ],
)
async def test_a_malformed_traceparent_is_ignored(
    settings: Settings, collecting: Collector, traceparent: str
) -> None:
    """The request is answered as if there were none."""
    async with running_gateway(settings) as client:
        response = await client.get("/api/sessions", traceparent=traceparent, baggage="=;,=")

    assert response.status_code == 200
    assert not collecting.one("GET /api/sessions").links


@contextmanager
def recording_server() -> Generator[tuple[str, list[dict[str, str]]]]:
    """An HTTP service that a tool uses, and the headers it was sent."""
    seen: list[dict[str, str]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def test_a_tools_requests_join_the_trace_and_the_models_do_not(
    settings: Settings, collecting: Collector, demo_url: str
) -> None:
    """A tool passes its own span on; the model's vendor is told nothing of our traces."""
    with recording_server() as (url, seen):

        @tool(effect="read_only")
        async def fetch(context: ToolContext) -> str:
            """Fetches something."""
            async with httpx2.AsyncClient(trust_env=False) as http_client:
                await http_client.get(url, headers=context.trace_headers)
            return "fetched"

        async with running_gateway(settings, fetch) as client:
            await client.chat("/call fetch {}\n/then\n/say done")
        async with httpx2.AsyncClient(trust_env=False) as http_client:
            asked = (await http_client.get(f"{demo_url}/demo/requests?limit=2")).json()["requests"]

    span = collecting.one("execute_tool fetch")
    assert [each.get("traceparent") for each in seen] == [f"00-{span.trace_id.hex()}-{span.span_id.hex()}-01"]
    assert "baggage" not in seen[0]
    assert len(asked) == 2
    assert not re.search(
        "traceparent|tracestate|baggage", str([each["headers"] for each in asked]), re.IGNORECASE
    )


async def test_without_a_collector_nothing_is_passed_on(settings: Settings) -> None:
    """Who records no traces claims none: neither to tools nor to clients."""
    seen: list[dict[str, str]] = []

    @tool(effect="read_only")
    async def fetch(context: ToolContext) -> str:
        """Fetches something."""
        seen.append(context.trace_headers)
        return "fetched"

    async with running_gateway(settings, fetch) as client:
        await client.chat("/call fetch {}\n/then\n/say done")
        response = await client.get("/api/sessions")

    assert seen == [{}]
    assert "server-timing" not in response.headers


async def test_requests_that_no_route_has_or_that_machines_repeat_make_no_names(
    settings: Settings, collecting: Collector
) -> None:
    """Span names are few: templates and methods, and health checks have no spans at all."""
    async with running_gateway(settings) as client:
        await client.get("/healthz")
        await client.get("/metrics")
        await client.get("/no/such/place?secret=canary")
        await client.http.request("PROPFIND", "/api/sessions")
        await client.get("/api/sessions/not%20an%20id")

    assert sorted(span.name for span in collecting.spans) == [
        "GET",
        "GET /api/sessions/{session_id}",
        "HTTP /api/sessions",
    ]
    assert "canary" not in str(collecting.spans)
    assert about(collecting.one("HTTP"))["http.request.method"] == "_OTHER"
