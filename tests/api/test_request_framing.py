"""How requests begin and end on the wire: offers of other protocols, HTTP/1.0, half-closed connections."""

import asyncio
import json
import shutil
import socket
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.history.copies.export import ExportIncomplete
from gateway.request_heads import RequestHeads
from tests.api.test_connections import all_of, connected
from tests.harness import TIMEOUT, Client, running_gateway
from tests.product import Settings

pytestmark = pytest.mark.anyio

JAVA = Path(__file__).parents[1] / "clients" / "Posts.java"
OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
OFFERS = {
    "h2c": OFFER,
    "websocket": b"Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
    "several": b"Upgrade: h2c, foo/2\r\nConnection: upgrade\r\nUpgrade: bar\r\n",
    "TLS": b"upgrade: TLS/1.0\r\nconnection: Upgrade\r\n",
}


def with_length(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def in_chunks(body: bytes) -> bytes:
    half = len(body) // 2
    parts = [part for part in (body[:half], body[half:]) if part]
    return b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(
        b"%x\r\n%b\r\n" % (len(part), part) for part in (*parts, b"")
    )


def post(path: bytes, body: bytes, fields: bytes = b"", version: bytes = b"1.1") -> bytes:
    head = b"POST %b HTTP/%b\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" % (path, version)
    return head + fields + body


def made(name: str) -> bytes:
    return json.dumps({"id": name}).encode()


async def answers(url: str, *segments: bytes) -> bytes:
    """All that comes for these segments, each sent as one, until the server closes the connection."""
    async with connected(url) as (reader, writer):
        for segment in segments:
            writer.write(segment)
            await writer.drain()
            await asyncio.sleep(0.001)
        return await all_of(reader)


@pytest.mark.parametrize("framed", [with_length, in_chunks])
@pytest.mark.parametrize("offer", OFFERS)
async def test_an_offer_of_another_protocol_is_passed_over(
    client: Client, offer: str, framed: Callable[[bytes], bytes]
) -> None:
    """The request is answered in HTTP/1.1, its body read, and what is pipelined behind it answered too:
    in one piece, cut in the head, at its end, in the body and byte by byte."""
    once = post(b"/api/sessions", framed(made("a%d")), OFFERS[offer])
    last = b"GET /api/sessions/a%d HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    end = once.index(b"\r\n\r\n") + 4
    for number, cuts in enumerate([(), (20,), (end,), (end + 2,), (end - 2, end + 5), range(1, len(once))]):
        whole = once.replace(b"a%d", b"a%02d"[:1] + b"%02d" % number)
        places = [0, *cuts, len(whole)]
        segments = [whole[at:to] for at, to in pairwise(places)]
        segments[-1] += last.replace(b"a%d", b"a%02d" % number)

        answer = await answers(client.url, *segments)

        assert answer.count(b"HTTP/1.1 ") == 2, answer
        assert answer.startswith(b"HTTP/1.1 201 Created\r\n")
        assert b"\r\n\r\n{" in answer
        assert b"HTTP/1.1 200 OK\r\n" in answer


async def test_an_offer_does_not_change_where_a_body_ends(client: Client) -> None:
    """With two lengths, a length beside chunks or a folded field the request is refused, whatever it offers,
    and nothing behind it is read as a request."""
    behind = b"GET /api/sessions/smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    for framing in (
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n",
        b"Content-Length: 4\r\nContent-Length: 0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n identity\r\n\r\n",
        b"Content-Length: +4\r\n\r\n",
        b"Transfer-Encoding : chunked\r\n\r\n",
    ):
        for fields in (OFFER + framing, framing.replace(b"\r\n\r\n", b"\r\n" + OFFER + b"\r\n")):
            answer = await answers(client.url, post(b"/api/sessions", fields) + behind)

            assert answer.startswith(b"HTTP/1.1 400 "), (framing, answer)
            assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    "target", [b"*", b"//", b"http://", b"/%zz", b"http://127.0.0.1/healthz", b"?", b"/\xc3\xa4"]
)
async def test_an_offer_does_not_change_what_a_bad_target_is(client: Client, target: bytes) -> None:
    """The same status as without it, and nothing in the server's log but that."""
    head = b"GET " + target + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close, Upgrade\r\n"
    plain, offering = [await answers(client.url, head + more) for more in (b"\r\n", b"Upgrade: h2c\r\n\r\n")]

    assert plain.split(b"\r\n")[0] == offering.split(b"\r\n")[0]
    assert offering.startswith(b"HTTP/1.1 ")


async def test_what_follows_a_body_of_zero_bytes_is_the_next_request(client: Client) -> None:
    """An offer with a GET, with `Content-Length: 0`, and with the last chunk alone; several one after the
    other on one connection."""
    get = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    one = get + OFFER + b"\r\n"
    empty = get + OFFER + b"Content-Length: 0\r\n\r\n"
    chunk = get + OFFER + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    last = get + b"Connection: close\r\n\r\n"

    answer = await answers(client.url, one + empty + chunk + one + last)

    assert answer.count(b"HTTP/1.1 200 OK\r\n") == 5


async def test_fields_of_trailers_stay_no_fields_of_the_head(client: Client) -> None:
    """Also of a request with an offer: what a trailer says of its client is not believed."""
    body = in_chunks(made("t"))[:-2] + b"X-Request-Id: from-a-trailer\r\n\r\n"
    close = b"Connection: close, Upgrade\r\nUpgrade: h2c\r\n"

    answer = await answers(client.url, post(b"/api/sessions", body, close))

    assert answer.startswith(b"HTTP/1.1 201 ")
    assert b"from-a-trailer" not in answer


@pytest.mark.skipif(shutil.which("java") is None, reason="needs java")
async def test_javas_client_gets_its_answers(client: Client) -> None:
    """As it is by default, which offers h2c with each request; LangChain4j and Spring AI are built on it."""
    bodies = [json.dumps({"message": f"/say {word}"}) for word in ("one", "x" * 50_000)]
    program = await asyncio.create_subprocess_exec(
        "java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", str(JAVA), f"{client.url}/api/chat", *bodies,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    printed, _ = await asyncio.wait_for(program.communicate(), TIMEOUT)

    assert printed.decode().splitlines() == ["200 HTTP_1_1 retry: 2000"] * 4


@pytest.mark.parametrize("cut", [None, 5, 16, 20])
async def test_http_2_is_refused_in_words(client: Client, cut: int | None) -> None:
    """A client that speaks HTTP/2 from the first byte is told so, and the connection closed."""
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04"

    answer = await answers(client.url, preface[:cut], preface[cut:] if cut else b"")

    assert answer.startswith(b"HTTP/1.1 505 HTTP Version Not Supported\r\n")
    assert b"HTTP/2" in answer.partition(b"\r\n\r\n")[2]


async def test_a_tunnel_is_refused(client: Client) -> None:
    """CONNECT, in one piece with what would go through it."""
    answer = await answers(
        client.url, b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\nGET /"
    )

    assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("fields", [b"", b"Connection: keep-alive\r\n"])
@pytest.mark.parametrize("path", [b"/api/chat", b"/v1/chat/completions"])
async def test_http_1_0_gets_no_chunks(settings: Settings, path: bytes, fields: bytes) -> None:
    """A stream to a client of HTTP/1.0 ends with the connection, and says that it will; nothing in its head
    contradicts that, nor in the head of one of HTTP/1.1 that asks to close."""
    bodies = {
        b"/api/chat": {"message": "/say one two"},
        b"/v1/chat/completions": {"stream": True, "messages": [{"role": "user", "content": "/say one two"}]},
    }
    body = with_length(json.dumps(bodies[path]).encode())
    async with running_gateway(settings.model_copy(update={"adapters": ("openai",)})) as client:
        old = await answers(client.url, post(path, body, fields, b"1.0"))
        new = await answers(client.url, post(path, body, b"Connection: close\r\n"))

    head, _, stream = old.partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head
    assert [each.count(b"\r\nconnection: ") for each in (head, new.partition(b"\r\n\r\n")[0])] == [1, 1]
    assert b"\r\nconnection: close" in head
    assert stream.startswith((b"retry: ", b"data: "))
    assert all(line[:1] in b"deirc:" for line in stream.split(b"\n"))


async def test_http_1_0_gets_whole_answers_by_their_length(client: Client) -> None:
    """As before: what has a length says it."""
    answer = await answers(client.url, b"GET /healthz HTTP/1.0\r\n\r\n")

    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-length: %d" % len(body) in head


async def test_an_answer_without_a_length_that_breaks_off_is_reset(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client of HTTP/1.0 cannot take a part of an export for the whole."""

    async def breaking(chunks: Any, *_: Any, **__: Any) -> Any:
        yield b"{}\n"
        raise ExportIncomplete("It broke off.")

    async with running_gateway(settings) as client:
        await client.chat("/say one", session_id="s")
        monkeypatch.setattr("gateway.api.replay_export_import_routes.with_trouble", breaking)
        async with connected(client.url) as (reader, writer):
            writer.write(b"GET /api/sessions/s/export HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
            with pytest.raises(ConnectionResetError):
                await asyncio.wait_for(reader.read(-1), TIMEOUT)


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
@pytest.mark.parametrize(
    ("path", "body", "end"),
    [
        (b"/api/chat", {"message": "/pieces 5 /pace 40"}, b'"status":"completed"'),
        (b"/api/chat", {"message": "/say at once"}, b'"status":"completed"'),
        (
            b"/v1/chat/completions",
            {"messages": [{"role": "user", "content": "/pieces 5 /pace 40"}]},
            b"usage",
        ),
        (b"/api/sessions", {"id": "half"}, b"half"),
    ],
)
async def test_a_client_that_closes_its_half_gets_its_answer(
    settings: Settings, version: bytes, path: bytes, body: dict[str, Any], end: bytes
) -> None:
    """Streams too, to their end; then the server closes as well."""
    given = settings.model_copy(update={"adapters": ("openai",)})
    async with running_gateway(given) as client, connected(client.url) as (reader, writer):
        writer.write(post(path, with_length(json.dumps(body).encode()), version=version))
        writer.write_eof()
        answer = await all_of(reader)

    assert answer.startswith(b"HTTP/1.1 20"), "a quick answer has nothing before it"
    assert end in answer


async def test_pipelined_requests_before_the_end_are_all_answered(client: Client) -> None:
    """Each in its turn, before the connection is closed."""
    get = b"GET /api/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    async with connected(client.url) as (reader, writer):
        writer.write(get * 5)
        writer.write_eof()
        answer = await all_of(reader)

    assert answer.count(b"HTTP/1.1 200 OK") == 5


async def test_half_a_request_is_no_request(client: Client) -> None:
    """Whose client closes its half in the head or in the body is not answered, and the connection closed."""
    whole = post(b"/api/sessions", with_length(made("cut")))
    for cut in (20, len(whole) - 3):
        async with connected(client.url) as (reader, writer):
            writer.write(whole[:cut])
            writer.write_eof()
            assert await all_of(reader) == b""
    assert (await client.get("/api/sessions/cut")).status_code == 404


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_has_gone_is_noticed(settings: Settings, stream: bool) -> None:
    """Long before the next heartbeat: its place is free again, though a closed connection first looks like
    one whose client still reads."""
    alone = settings.model_copy(
        update={"max_streams_per_user": 1, "adapters": ("openai",), "heartbeat": 60.0}
    )
    body = {"stream": stream, "messages": [{"role": "user", "content": "/pieces 50000 /pace 100"}]}
    async with running_gateway(alone) as client:
        async with connected(client.url) as (reader, writer):
            writer.write(post(b"/v1/chat/completions", with_length(json.dumps(body).encode())))
            if stream:
                await reader.readuntil(b"data: ")
            else:
                while (
                    await client.post("/v1/chat/completions", {**body, "stream": True})
                ).status_code != 429:
                    await asyncio.sleep(0.01)
            writer.close()
            await writer.wait_closed()
        async with asyncio.timeout(30):
            while (await client.get("/api/sessions?q=x")).status_code == 200:
                probe = {"messages": [{"role": "user", "content": "/say free"}]}
                if (await client.post("/v1/chat/completions", probe)).status_code == 200:
                    return
                await asyncio.sleep(0.02)


async def test_a_reset_behind_the_end_is_noticed_too(settings: Settings) -> None:
    """Of a client that closes its half, reads on for a while and is then killed."""
    alone = settings.model_copy(update={"max_streams_per_user": 1, "heartbeat": 0.05})
    async with running_gateway(alone) as client:
        async with connected(client.url) as (reader, writer):
            body = json.dumps({"message": "/pieces 50000 /pace 100"}).encode()
            writer.write(post(b"/api/chat", with_length(body)))
            writer.write_eof()
            await reader.readuntil(b"event: text\n")
            writer.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
            )
            writer.transport.abort()
        async with asyncio.timeout(30):
            while (await client.post("/api/chat", {"message": "/say free"})).status_code != 200:
                await asyncio.sleep(0.02)


class Read(RequestHeads):
    """What a connection reads of requests, without a server around it."""

    def __init__(self) -> None:
        config: Any = SimpleNamespace(
            loaded=True,
            loaded_app=None,
            ws_protocol_class=None,
            root_path="",
            asgi_version="3.0",
            limit_concurrency=None,
            timeout_keep_alive=5,
        )
        state: Any = SimpleNamespace(connections=set(), tasks=set(), default_headers=[])
        loop: Any = SimpleNamespace()
        super().__init__(config, state, {}, loop)
        self.found: list[tuple[str, str, list[tuple[bytes, bytes]], bytearray]] = []
        self.transport: Any = SimpleNamespace(write=self.found.append, close=lambda: None)
        self.flow: Any = SimpleNamespace(pause_reading=lambda: None, resume_reading=lambda: None)

    def on_headers_complete(self) -> None:
        offers = self.parser.should_upgrade()
        super().on_headers_complete()
        if not offers:
            fields = [each for each in self.headers if each[0] not in OFFERED]
            self.found.append((self.scope["method"], self.scope["path"], fields, self.cycle.body))

    def _start_asgi_task(self, cycle: Any, app: Any) -> None: ...


OFFERED = {b"connection", b"upgrade", b"http2-settings", b"sec-websocket-version"}
BODIES = st.binary(max_size=40)


@given(
    requests=st.lists(
        st.tuples(st.sampled_from([*OFFERS.values()]), BODIES, st.booleans()), min_size=1, max_size=5
    ),
    data=st.data(),
)
def test_the_same_is_read_with_an_offer_as_without(
    requests: list[tuple[bytes, bytes, bool]], data: st.DataObject
) -> None:
    """For any requests one behind the other, and any segments of them: heads and bodies are those that they
    have without their offers."""

    def read(*segments: bytes) -> object:
        connection = Read()
        for segment in segments:
            connection.data_received(segment)
        return connection.found

    framed = [(offer, in_chunks(body) if chunked else with_length(body)) for offer, body, chunked in requests]
    plain = b"".join(post(b"/x", body) for _, body in framed)
    offering = b"".join(post(b"/x", body, offer) for offer, body in framed)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(offering)), max_size=8)))
    places = [0, *cuts, len(offering)]

    found = read(*(offering[at:to] for at, to in pairwise(places)))

    assert found == read(plain)
    assert len(cast("list[object]", found)) == len(requests)
