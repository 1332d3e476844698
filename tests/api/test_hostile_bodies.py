"""What a stranger sends decides neither how long others wait nor how much memory it takes. The watchdog of
all tests (`tests/loop_watchdog.py`) says so of each request here."""

import asyncio
import base64
import resource
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import orjson
import pytest

from gateway.http import large_bodies
from gateway.http.large_bodies import MAX_HELD, MAX_HELD_BY_USER, MAX_PARTS, LargeBodies
from gateway.http.validation import MAX_PROBLEMS
from tests.harness import Client
from tests.product import QueueFull

pytestmark = pytest.mark.anyio

MANY = {f"k{number}": 1 for number in range(80_000)}
CALL = {"jsonrpc": "2.0", "id": 1}
BODIES: dict[str, tuple[str, Any]] = {
    "names": ("/api/sessions", MANY),
    "names within": ("/api/sessions", {"messages": [{"role": "user", "content": "x", **MANY}]}),
    "items": ("/api/memory", {"content": "x", "tags": [1] * 90_000}),
    "items of messages": ("/api/sessions", {"messages": [{"role": 1}] * 30_000}),
    "texts": ("/api/prompts/preview", {"edits": {f"k{number}": 1 for number in range(70_000)}}),
    "arguments": ("/api/sessions/s/approvals/t", {"decision": "approved", "arguments": MANY, "x": 1}),
    "nested": ("/api/memory", {"content": "x", "evidence": [MANY]}),
    "pasted": ("/api/session/summary", {"messages": "Du: hallo\n" * 60_000, "nonsense": 1}),
    "trajectory": ("/api/session/summary", {"messages": "x", "trajectory": [[]] * 99_000}),
    "openai": ("/v1/chat/completions", {"messages": [{}] * 90_000}),
    "openai items": ("/v1/chat/completions", {"messages": [1] * 90_000}),
    "openai messages": ("/v1/chat/completions", {"messages": [{"role": "user", "content": []}] * 9000}),
    "responses": ("/v1/responses", {"input": [{"type": "message", "content": [{}]}] * 9000}),
    "anthropic": ("/v1/messages", {"messages": [{"role": "user", "content": [{}] * 9} for _ in range(9000)]}),
    "a2a": (
        "/a2a",
        {"jsonrpc": "2.0", "method": "SendMessage", "params": {"message": {"parts": [1] * 9000}}},
    ),
    "ag_ui": ("/ag-ui", {"threadId": "t", "messages": [{"id": 1}] * 30_000, "context": [{}] * 9000}),
    "ai_sdk": (
        "/ai-sdk",
        {"messages": [{"id": "1", "role": "user", "parts": [{}] * 9} for _ in range(9000)]},
    ),
    "mcp memory": (
        "/mcp",
        CALL | {"method": "tools/call", "params": {"name": "manage_memory", "arguments": {"action": MANY}}},
    ),
    "mcp": (
        "/mcp",
        CALL | {"method": "tools/call", "params": {"name": "chat", "arguments": MANY}},
    ),
}


@pytest.mark.parametrize("body", BODIES)
async def test_a_body_that_is_refused_holds_nobody_up(shared_client: Client, body: str) -> None:
    """Of each dialect: too many names, items or values, or all of them wrong. The refusal is short."""
    path, value = BODIES[body]
    answer = await shared_client.post(path, value)

    assert 400 <= answer.status_code < 500 or "rror" in answer.text, answer.text[:300]
    assert len(answer.content) < 5000


async def test_the_first_problems_are_named(shared_client: Client) -> None:
    """Twenty of them, in their order."""
    answer = await shared_client.post("/api/sessions", MANY)
    message = answer.json()["error"]["message"]
    assert message.startswith("body: 80,000 names, more than there may be; unknown are k0, k1, ")
    assert f"k{MAX_PROBLEMS - 1} " in message
    assert f"k{MAX_PROBLEMS}" not in message

    few = await shared_client.post("/api/sessions", {f"k{number}": 1 for number in range(30)})
    assert few.status_code == 400

    items = await shared_client.post("/api/memory", {"content": "x", "tags": ["a", 1, 2]})
    assert items.json()["error"]["message"].startswith("tags.1: must be text")


async def test_a_large_body_of_few_parts_is_taken(shared_client: Client) -> None:
    """Megabytes of a file, with commas and brackets in its texts."""
    data = base64.b64encode(bytes(range(256)) * 40_000).decode()
    text = 'a, [b], {"c": 1}\n' * 20_000
    content = [
        {"type": "text", "text": "/say read"},
        {"type": "file", "file": {"filename": "a.bin", "file_data": f"data:application/pdf;base64,{data}"}},
        {"type": "text", "text": text},
    ]
    answer = await shared_client.post(
        "/v1/chat/completions", {"messages": [{"role": "user", "content": content}]}
    )
    assert answer.status_code in {200, 400}, answer.text[:300]
    assert "objects, lists and values" not in answer.text


def _parts(count: int) -> Iterator[bytes]:
    yield b'{"messages":[{}'
    for _ in range(count // 1000):
        yield b",{}" * 1000
    yield b"]}"


async def test_a_body_of_too_many_parts_is_refused_before_it_is_parsed(shared_client: Client) -> None:
    """It takes no memory to speak of, though it would have taken a gigabyte."""

    async def sent() -> AsyncGenerator[bytes]:
        for piece in _parts(10_000_000):
            yield piece

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = await shared_client.http.post(
        "/v1/chat/completions", content=sent(), headers={"content-type": "application/json"}
    )
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

    assert answer.status_code == 413
    assert answer.json()["error"]["message"] == (
        f"The body has more than {MAX_PARTS:,} objects, lists and values."
    )
    assert grown < 50_000  # kB


async def test_a_query_of_many_names_is_refused_unread(shared_client: Client) -> None:
    """Also where nobody is asked who they are."""
    names = "&".join(f"k{number}=1" for number in range(6000))
    for path in ("/auth/sign-in", "/api/sessions", "/v1/responses/resp_1", "/api/artifacts", "/healthz"):
        answer = await shared_client.get(f"{path}?{names}")
        assert answer.status_code in {200, 400, 401, 404}
    assert "more than 100 parameters" in (await shared_client.get(f"/api/sessions?{names}")).text


async def test_large_bodies_are_read_a_few_at_a_time(
    shared_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others wait, and all are answered."""
    body = {"content": "x", "tags": ["a" * 100_000]}
    answers = await asyncio.gather(*(shared_client.post("/api/memory", body) for _ in range(12)))
    assert {answer.status_code for answer in answers} == {400}

    monkeypatch.setattr(large_bodies, "PARSE_TIMEOUT", 0.0)
    async with large_bodies.large_bodies().place(), large_bodies.large_bodies().place():
        answer = await shared_client.post("/api/memory", body)
    assert answer.status_code == 429
    assert answer.json()["error"]["code"] == "server_busy"


async def test_the_bytes_of_large_bodies_are_bounded() -> None:
    """Those of a user, so that others have room; and of all. A single one is always taken."""
    large = LargeBodies()
    with large.receive("ada") as first, large.receive("ben") as other:
        large.hold("ada", first, MAX_HELD_BY_USER + 1)
        with large.receive("ada") as second, pytest.raises(QueueFull):
            large.hold("ada", second, 1)
        large.hold("ben", other, MAX_HELD_BY_USER)
        with large.receive("eve") as third, pytest.raises(QueueFull):
            large.hold("eve", third, MAX_HELD - 2 * MAX_HELD_BY_USER)
    with large.receive("ada") as again:
        large.hold("ada", again, MAX_HELD)


async def test_documents_that_everybody_may_ask_for_are_made_once(shared_client: Client) -> None:
    """And not sent again to who has them."""
    for path in ("/openapi.json", "/api/schema/events.json"):
        first, *others = [await shared_client.get(path) for _ in range(5)]
        assert first.status_code == 200
        assert orjson.loads(first.content)
        assert {other.content for other in others} == {first.content}
        known = await shared_client.get(path, **{"if-none-match": first.headers["etag"]})
        assert (known.status_code, known.content) == (304, b"")


@pytest.mark.parametrize(
    "lines",
    [b"{}\n" * 100_000, orjson.dumps({"content": "x", **MANY}), b'{"tags":[' + b"1," * 400_000 + b"1]}"],
    ids=["lines", "names", "items"],
)
async def test_an_import_of_memories_holds_nobody_up(shared_client: Client, lines: bytes) -> None:
    """Of many lines that are refused, or one in which all is wrong."""
    answer = await shared_client.http.post(
        "/api/memory/import", content=lines, headers={"content-type": "application/x-ndjson"}
    )
    assert answer.status_code == 200, answer.text[:300]
    assert answer.json()["refused"] == max(1, lines.count(b"\n"))
