"""Artifacts and whatever comes in: a clear 4xx with what to do next, and nothing half-kept."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from pydantic import SecretStr

from gateway.service.artifacts import MAX_PER_USER
from gateway.service.upload_buffer import UploadBuffer
from tests.api.artifacts import part, problem, send
from tests.harness import TIMEOUT, Client, running_gateway
from tests.postgres import on_both_engines
from tests.product import Settings

pytestmark = pytest.mark.anyio

RAW = {"content-type": "application/octet-stream"}
BODIES: list[tuple[Any, str]] = [
    ({}, "either text or data"),
    ({"text": "a", "data": "YQ=="}, "either text or data"),
    ({"text": ""}, "text: "),
    ({"text": "a\0b"}, "NUL"),
    ({"text": 7}, "text: "),
    ({"data": ""}, "data: "),
    ({"data": "no base64!"}, "base64"),
    ({"data": "YQ"}, "base64"),
    ({"data": "YQ==\n"}, "base64"),
    ({"data": "中文"}, "base64"),
    ({"text": "a", "name": ""}, "name: "),
    ({"text": "a", "name": "n" * 1001}, "name: "),
    ({"text": "a", "mime": "m" * 201}, "mime: "),
    ({"text": "a", "session_id": "../x"}, "session_id: "),
    ({"text": "a", "metadata": []}, "metadata: "),
    ({"text": "a", "metadata": {"a": "字" * 1400}}, "4096 bytes"),
    ({"text": "a", "metadata": {"examples": {}}}, "taken"),
    ({"text": "a", "metadata": {"a": orjson.Fragment(b"[" * 300 + b"]" * 300)}}, "Recursion limit"),
    ({"text": "a", "metadata": {"a": orjson.Fragment(b"[" * 253 + b"]" * 253)}}, "Recursion limit"),
    ({"text": "a", "ref": "ART-0000000000"}, "ref: unknown name"),
    ([{"text": "a"}], "must be a JSON object"),
]


async def test_a_bad_body_is_refused_and_the_message_says_why(client: Client) -> None:
    """400 with the field's name; nothing is kept of it."""
    for body, message in BODIES:
        sent = orjson.dumps(body)
        answer = await client.http.post(
            "/api/artifacts", content=sent, headers={"content-type": "application/json"}
        )
        assert (sent[:60], *problem(answer)) == (sent[:60], 400, "invalid_request")
        assert message in answer.json()["error"]["message"]
        assert answer.json()["error"]["message"].endswith("add raw=1 to the query.")

    assert (await client.get("/api/artifacts")).json()["artifacts"] == []


async def test_bad_paths_and_queries_are_refused(client: Client) -> None:
    """Unknown things are 404, malformed ones 400, and the message says what to write instead."""
    ref = (await send(client, "一行\n二行\n".encode(), "text/plain"))["ref"]
    one = f"/api/artifacts/{ref}"
    for path, status, code in (
        ("/api/artifacts/ART-0000000000", 404, "artifact_not_found"),
        ("/api/artifacts/ART-0000000000/compact", 404, "artifact_not_found"),
        ("/api/artifacts/art-0000000000", 400, "invalid_request"),
        ("/api/artifacts/ART-000000000u", 400, "invalid_request"),
        (f"{one}0", 400, "invalid_request"),
        (f"{one}%0A", 400, "invalid_request"),
        ("/api/artifacts/..%2F..%2Fetc", 404, "not_found"),
        ("/api/artifacts/%00/compact", 400, "invalid_request"),
        (f"{one}?lines=2-1", 400, "bad_range"),
        (f"{one}?lines=0-1", 400, "bad_range"),
        (f"{one}?lines=3", 400, "bad_range"),
        (f"{one}?lines=", 400, "bad_range"),
        (f"{one}?lines=-5", 400, "bad_range"),
        (f"{one}?lines={'9' * 400}", 400, "bad_range"),
        (f"{one}?bytes=99-100", 400, "bad_range"),
        (f"{one}?bytes=a", 400, "bad_range"),
        (f"{one}?lines=1-2&bytes=0-1", 400, "bad_range"),
        (f"{one}?max_tokens=1000", 400, "bad_range"),
        (f"{one}?lines=1&max_tokens=10", 400, "invalid_request"),
        (f"{one}?lines=1&max_tokens=99999", 400, "invalid_request"),
        (f"{one}?lines=1&lines=2", 400, "invalid_request"),
        (f"{one}?line=1", 400, "invalid_request"),
        (f"{one}?search=", 400, "bad_search"),
        (f"{one}?search={'x' * 999}", 400, "bad_search"),
        (f"{one}?json_path=$.a", 400, "not_json"),
        ("/api/artifacts?limit=0", 400, "invalid_request"),
        ("/api/artifacts?limit=201", 400, "invalid_request"),
        ("/api/artifacts?before=x", 400, "invalid_request"),
        ("/api/artifacts?session_id=none", 404, "session_not_found"),
        ("/api/artifacts?turn_id=a/b", 400, "invalid_request"),
    ):
        answer = await client.get(path)
        assert (path[-60:], *problem(answer)) == (path[-60:], status, code)
        assert len(answer.json()["error"]["message"]) < 1000


async def test_json_that_cannot_be_read_by_path_is_refused(client: Client) -> None:
    """Nested ten thousand deep, broken in the middle, or asked for with a path that is none: 400, not a dead
    process."""
    deep = (await send(client, b"[" * 10_000 + b"]" * 10_000, "application/json", raw="1"))["ref"]
    fine = (await send(client, b'{"a": [1, 2, 3]}', "application/json", raw="1"))["ref"]

    answers = [await part(client, deep, json_path="$[0]")]
    for path in ("a.b", "$[", "$[?match(@.a, '(a+)+b')]", "$" + "..*" * 200):
        answers.append(await part(client, fine, json_path=path))

    for answer in answers:
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] in {"bad_json_path", "not_json", "json_path_too_slow"}


async def test_a_body_over_the_limit_is_413(settings: Settings) -> None:
    """A JSON body as everywhere; content with the limit of artifacts, said at once or found on the way; what
    was taken in until then is gone."""
    small: dict[str, Any] = {"artifact_max_size": 5000, "max_body_size": 4000}

    async def unmeasured() -> AsyncGenerator[bytes]:
        for _ in range(20):
            yield b"x" * 1000

    async with running_gateway(settings.model_copy(update=small)) as client:
        inline = await client.post("/api/artifacts", {"text": "x" * 4001})
        response = await client.http.post("/api/artifacts", content=b"x" * 5001, headers=RAW)
        found = await client.http.post("/api/artifacts", content=unmeasured(), headers=RAW)
        fits = await client.http.post("/api/artifacts", content=b"x" * 5000, headers=RAW)
        kept = (await client.get("/api/artifacts")).json()["artifacts"]

    assert [problem(each) for each in (inline, response, found)] == [(413, "payload_too_large")] * 3
    assert "Send the file as it is" in inline.json()["error"]["message"]
    assert [each.json()["error"]["details"] for each in (inline, response, found)] == [
        {"max_body_size": 4000},
        {"artifact_max_size": 5000},
        {"artifact_max_size": 5000},
    ]
    assert (fits.status_code, [each["size"] for each in kept]) == (201, [5000])


async def test_a_full_quota_is_told_with_what_there_is(settings: Settings) -> None:
    """409 artifacts_full; after a deletion there is room again, and content that is there already needs
    none."""
    async with running_gateway(settings.model_copy(update={"artifact_quota": 20_000})) as client:
        first = await send(client, b"a" * 15_000)
        full = await client.http.post("/api/artifacts", content=b"b" * 15_000, headers=RAW)
        same = await client.http.post("/api/artifacts", content=b"a" * 15_000, headers=RAW)
        for ref in (first["ref"], same.json()["ref"]):
            await client.http.delete(f"/api/artifacts/{ref}")
        after = await client.http.post("/api/artifacts", content=b"b" * 15_000, headers=RAW)

    assert problem(full) == (409, "artifacts_full")
    assert full.json()["error"]["details"] == {"quota": 20_000, "used": 15_000}
    assert [same.status_code, after.status_code] == [201, 201]


@on_both_engines
async def test_a_full_room_of_a_tenant_is_told_to_each_of_its_users(settings: Settings) -> None:
    """Who has nothing yet is refused for what others have."""
    keys = [f"{name}-secret-0123456789" for name in ("anna", "bob")]
    limited = {"api_keys": SecretStr(f"anna:{keys[0]},bob:{keys[1]}"), "artifact_tenant_quota": 20_000}
    async with running_gateway(settings.model_copy(update=limited)) as client:
        first, other = [
            await client.http.post("/api/artifacts", content=each * 15_000, headers=RAW | {"x-api-key": key})
            for each, key in zip((b"a", b"b"), keys, strict=True)
        ]

    assert first.status_code == 201
    assert problem(other) == (409, "artifacts_full")
    assert other.json()["error"]["details"] == {"quota": 20_000, "used": 30_000}


async def test_an_empty_upload_is_refused(client: Client) -> None:
    """400, as nothing could be read of it."""
    assert problem(await client.http.post("/api/artifacts", content=b"", headers=RAW)) == (
        400,
        "invalid_request",
    )


async def test_an_upload_that_stalls_ends(settings: Settings) -> None:
    """After `send_timeout` seconds without a byte, and nothing of it stays, not even a file."""
    async with running_gateway(settings.model_copy(update={"send_timeout": 0.1})) as client:
        answer = await _stalled(client)
        kept = (await client.get("/api/artifacts")).json()["artifacts"]

    assert b" 408 " in answer.split(b"\r\n", 1)[0]
    assert b"Nothing of the body came for 0.1 seconds." in answer
    assert kept == []


async def test_only_so_many_uploads_of_one_user_run_at_a_time(settings: Settings) -> None:
    """One more is 429 with Retry-After. When they are over, their places are free. (What bounds the uploads
    of all users together is their bytes: tests/service/test_upload_buffer.py.)"""
    async with gateway_of(settings, 1) as client:
        async with uploading(client, [key_of(0)] * MAX_PER_USER):
            answer = await client.http.post("/api/artifacts", content=b"x", headers=RAW | key_of(0))
        after = await client.http.post("/api/artifacts", content=b"x", headers=RAW | key_of(0))

    assert problem(answer) == (429, "queue_full")
    assert "of yours" in answer.json()["error"]["message"]
    assert "retry-after" in answer.headers
    assert after.status_code == 201


async def test_who_sends_slowly_keeps_nobody_else_out(settings: Settings) -> None:
    """However many that user begins."""
    async with gateway_of(settings, 2) as client, uploading(client, [key_of(0)] * MAX_PER_USER):
        for _ in range(3):
            other = await client.http.post("/api/artifacts", content=b"x", headers=RAW | key_of(1))
            assert other.status_code == 201


def key_of(user: int) -> dict[str, str]:
    return {"x-api-key": f"secret-of-a-user-0123456789-{user}"}


def gateway_of(settings: Settings, users: int) -> AbstractAsyncContextManager[Client]:
    keys = ",".join(f"user{user}:{key_of(user)['x-api-key']}" for user in range(users))
    return running_gateway(settings.model_copy(update={"api_keys": SecretStr(keys)}))


@asynccontextmanager
async def uploading(client: Client, keys: Sequence[dict[str, str]]) -> AsyncGenerator[None]:
    """An upload with each key that is received until the context is left; all of them are kept then."""
    go_on, begun, received = asyncio.Event(), asyncio.Semaphore(0), UploadBuffer.received

    async def held() -> AsyncGenerator[bytes]:
        yield b"x" * 10
        await go_on.wait()

    async def watched(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
        begun.release()
        async for chunk in chunks:
            yield chunk

    def receive(buffer: UploadBuffer, chunks: AsyncIterable[bytes], owner: str | None = None) -> Any:
        return received(buffer, watched(chunks), owner)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(UploadBuffer, "received", receive)
        held_ones = [
            asyncio.ensure_future(client.http.post("/api/artifacts", content=held(), headers=RAW | key))
            for key in keys
        ]
        async with asyncio.timeout(TIMEOUT):
            for _ in keys:
                await begun.acquire()
    yield
    go_on.set()
    assert [each.status_code for each in await asyncio.gather(*held_ones)] == [201] * len(keys)


@examples(max_examples=40)
@given(
    content=st.binary(min_size=1, max_size=2000) | st.text(min_size=1, max_size=500).map(str.encode),
    name=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=40),
    question=st.tuples(
        st.sampled_from(["lines", "bytes", "search"]),
        st.text(max_size=20) | st.sampled_from(["1-5", "0-9", "的", "5", "1-"]),
    ),
)
async def test_any_content_is_kept_and_any_question_is_answered(
    client: Client, content: bytes, name: str, question: tuple[str, str]
) -> None:
    """Whatever it is and is called: it comes back byte for byte, and a part of it is told or refused."""
    made = await send(client, content, name=name)

    whole = await client.get(f"/api/artifacts/{made['ref']}")
    compact = await client.get(f"/api/artifacts/{made['ref']}/compact")
    response = await part(client, made["ref"], **dict([question]))

    assert whole.content == content
    assert compact.status_code == 200
    assert response.status_code in {200, 400}


async def _stalled(client: Client) -> bytes:
    """What is answered to an upload that stops in the middle."""
    address = urlsplit(client.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(
        b"POST /api/artifacts HTTP/1.1\r\nHost: " + address.netloc.encode() + b"\r\nConnection: close\r\n"
        b"Content-Type: text/plain\r\nContent-Length: 100\r\n\r\nonly the beginning"
    )
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer
