"""What servers of all kinds really answer: to calls, with errors, and when they have forgotten a session."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.methods import validate_server_result
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from structlog.testing import capture_logs

from gateway.errors import ServerUnreachable
from gateway.tools.mcp import reconnecting_server
from gateway.tools.mcp.call_results import mended_result
from gateway.tools.mcp.handshake_results import mended_handshake
from gateway.tools.mcp.tool_list import ToolList
from gateway.tools.mcp.wire_messages import read_messages, whole_characters
from tests.loopback import served
from tests.mcp_servers.serving import Attached, address, attached, body, program

pytestmark = pytest.mark.anyio

PICTURE = b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()
INITIALIZED = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "as it is", "version": "1"},
}
LISTED = {"tools": [{"name": "it", "inputSchema": {"type": "object"}}]}
PROGRAM = """
import json, sys
answer = json.loads(sys.argv[1])
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    results = json.loads(sys.argv[2])
    known = {"jsonrpc": "2.0", "id": message["id"], "result": results.get(message["method"])}
    if message["method"] == "tools/call":
        text = answer.replace('"ID"', json.dumps(message["id"]))
    elif known["result"] is None:
        text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}})
    else:
        text = json.dumps(known)
    print(text, flush=True)
"""
KNOWN: dict[str, Any] = {"initialize": INITIALIZED, "tools/list": LISTED}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here has to wait as long as a person would let it."""
    monkeypatch.setattr(reconnecting_server, "PAUSES", (0.05,))


@asynccontextmanager
async def answering(text: str, way: str) -> AsyncGenerator[Attached]:
    """A server that answers each call with the text, `"ID"` in it being the call's id."""
    if way == "program":
        server = program("-c", PROGRAM, json.dumps(text), json.dumps(KNOWN))
        async with attached(it=server) as servers:
            yield servers
        return

    async def endpoint(request: Request) -> Response:
        if request.method != "POST":
            return Response(status_code=405)
        message = await request.json()
        if "id" not in message:
            return Response(status_code=202)
        known = {"initialize": INITIALIZED, "tools/list": LISTED}.get(message["method"])
        if message["method"] == "tools/call":
            answer = text.replace('"ID"', json.dumps(message["id"]))
            if way == "stream":
                event = "".join(f"data: {line}\r\n" for line in answer.split("\n"))
                return Response(f"event: message\r\n{event}\r\n", media_type="text/event-stream")
            return Response(answer, media_type="application/json" if way == "body" else "text/plain")
        if known is None:
            return Response(status_code=404)
        return Response(
            json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": known}),
            media_type="application/json",
        )

    app = Starlette(routes=[Route("/mcp", endpoint, methods=["GET", "POST", "DELETE"])])
    async with served(app, lifespan=False) as url, attached(it=address(url)) as servers:
        yield servers


def result(**parts: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": "ID", "result": parts})


WAYS = pytest.mark.parametrize("way", ["program", "body", "stream", "other type"])


@WAYS
async def test_half_a_character_is_replaced(way: str) -> None:
    """JavaScript cuts texts within an emoji; the rest of the answer is there, at once."""
    part = r'{"type":"text","text":"half \ud83d here \\ud83d \ud83d\ude00"}'
    text = f'{{"jsonrpc":"2.0","id":"ID","result":{{"content":[{part}]}}}}'
    async with answering(text, way) as servers:
        assert body(await servers.call("it")) == "half \ufffd here \\ud83d 😀"


async def test_a_server_that_repeats_our_secrets_tells_nobody() -> None:
    """In a result, in a description, in a schema; what is no secret by its name stays."""
    given = {
        "A_TOKEN": "t-12345678",
        "QUOTED_KEY": 'q"12345678',
        "PLACE": "plain-value",
        "PIN_KEY": "12345678",
    }
    said = ["t-12345678", 'q"12345678', "plain-value", "12345678"]
    structured = {each: each for each in said}
    text = result(content=[{"type": "text", "text": " ".join(said)}], structuredContent=structured)
    schema = {"type": "object", "properties": {"a": {"description": "t-12345678"}}}
    tool = {"name": "it", "description": "sent t-12345678", "inputSchema": schema}
    known = json.dumps({**KNOWN, "tools/list": {"tools": [tool]}})
    async with attached(it=program("-c", PROGRAM, json.dumps(text), known, env=given)) as servers:
        told = body(await servers.call("it"))
        (spec,) = [each.spec for each in servers.servers.tools]
    assert told.startswith("[redacted] [redacted] plain-value 12345678")
    assert "t-12345678" not in told
    assert 'q"' not in told
    assert spec.description == "sent [redacted]"
    assert spec.input_schema["properties"]["a"]["description"] == "[redacted]"


@pytest.mark.parametrize("way", ["body", "stream"])
async def test_a_server_that_repeats_our_headers_tells_nobody(way: str) -> None:
    """With or without what stands before a token."""
    said = "you sent Bearer t-12345678, that is t-12345678"
    async with answering(result(content=[{"type": "text", "text": said}]), way) as servers:
        assert body(await servers.call("it")) == "you sent [redacted], that is [redacted]"


@pytest.mark.parametrize("way", ["program", "body", "stream"])
@pytest.mark.parametrize(
    ("error", "words"),
    [
        ('"error": "out of order"', "out of order"),
        ('"error": {"message": "no code"}', "no code"),
        ('"error": {"code": "-32602", "message": "code as text"}', "code as text"),
        ('"error": {"code": 1.0, "detail": "only a detail"}', "only a detail"),
        ('"error": ["first", "second"]', "first"),
        ('"error": {"code": -32000, "message": {"text": 1}}', "text"),
        ('"error": {"code": -32000, "message": "both"}, "result": null', "both"),
    ],
)
async def test_an_error_of_any_form_ends_the_call_at_once(error: str, words: str, way: str) -> None:
    """With the server's words; nobody waits for the end of the call's time."""
    for identity in ('"id": "ID"', '"id": null', '"jsonrpc": "2.0", "id": "ID"'):
        async with answering(f"{{{identity}, {error}}}", way) as servers:
            output = await servers.call("it")
        assert output.is_error
        assert words in body(output)


async def test_neither_a_result_nor_an_error_is_an_error() -> None:
    async with answering('{"jsonrpc": "2.0", "id": "ID"}', "program") as servers:
        assert "neither a result nor an error" in body(await servers.call("it"))


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"content": [{"type": "text", "text": ""}], "structuredContent": {"a": [1]}}, '{"a":[1]}'),
        (
            {"content": [{"type": "text", "text": "2 listed"}], "structuredContent": {"issues": ["x", "y"]}},
            '2 listed\n{"issues":["x","y"]}',
        ),
        ({"content": [{"type": "text", "text": '{"a": 1}'}], "structuredContent": {"a": 1}}, '{"a": 1}'),
        ({"content": [{"type": "text", "text": "x is 12"}], "structuredContent": {"x": 12}}, "x is 12"),
        ({"content": [{"type": "text", "text": "x: 12"}], "structuredContent": {"x": 1}}, 'x: 12\n{"x":1}'),
        ({"structuredContent": {"a": 1}}, '{"a":1}'),
        ({"content": [], "structuredContent": [1, 2]}, '{"result":[1,2]}'),
        ({"content": [{"type": "hologram", "text": "words"}, {"type": "text", "text": "kept"}]},
         "[a part that cannot be read here: hologram]\nwords\nkept"),
        ({"content": [{"type": "hologram"}, {"type": "text", "text": "kept"}]},
         "[a part that cannot be read here: hologram]\nkept"),
        ({"content": [{"type": "resource_link", "uri": "https://a.example/b.pdf"}]},
         "[resource: https://a.example/b.pdf, unknown type]"),
        ({"content": "only text"}, "only text"),
        ({"content": {"type": "text", "text": "one part"}}, "one part"),
        ({"content": ["a", {"text": "no type"}, {"type": "text", "text": 3}, None]}, "a\nno type\n3\nnull"),
        ({"content": [{"type": "text", "text": "a", "annotations": "none"}]}, "a"),
        ({"content": [{"type": "image", "data": 7}, {"type": "text", "text": "kept"}]},
         "[a part that cannot be read here: image]\nkept"),
        ({"content": None, "_meta": "none"}, "(no output)"),
    ],
)  # fmt: skip
async def test_what_can_be_read_of_a_result_is_kept(parts: dict[str, Any], told: str) -> None:
    """And what cannot is named."""
    async with answering(result(**parts), "program") as servers:
        assert body(await servers.call("it")) == told


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "data": PICTURE},
        {"type": "image", "data": f"data:image/png;base64,{PICTURE}"},
        {"type": "image", "data": PICTURE[:20] + "\n" + PICTURE[20:].rstrip("="), "mime_type": "image/png"},
        {"type": "resource", "resource": {"blob": PICTURE}},
    ],
)
async def test_a_picture_without_a_type_is_a_picture(part: dict[str, Any]) -> None:
    """Its first bytes decide."""
    async with answering(result(content=[part]), "body") as servers:
        (file,) = (await servers.call("it")).files
    assert file.data.startswith(b"\x89PNG")
    assert file.mime in (None, "image/png")


Refuse = Callable[[dict[str, Any]], Response]


class Forgetful:
    """A server with sessions, which it forgets; `refuse` is how it says so. `ran` are the calls it did."""

    def __init__(self, refuse: Refuse) -> None:
        self.refuse = refuse
        self.sessions: list[str] = []
        self.known: set[str] = set()
        self.ran = 0

    async def endpoint(self, request: Request) -> Response:
        if request.method != "POST":
            return Response(status_code=405)
        message = await request.json()
        headers: dict[str, str] = {}
        if message["method"] == "initialize":
            headers["mcp-session-id"] = f"s-{len(self.sessions)}"
            self.sessions.append(headers["mcp-session-id"])
            self.known.add(headers["mcp-session-id"])
        elif "mcp-session-id" in request.headers and request.headers["mcp-session-id"] not in self.known:
            return self.refuse(message)
        if "id" not in message:
            return Response(status_code=202)
        self.ran += message["method"] == "tools/call"
        results = {"initialize": INITIALIZED, "tools/list": LISTED, "ping": {}}
        results["tools/call"] = {"content": [{"type": "text", "text": "done"}]}
        if (found := results.get(message["method"])) is None:
            return Response(status_code=404)
        return Response(
            json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": found}),
            headers=headers,
            media_type="application/json",
        )


@asynccontextmanager
async def forgetful(refuse: Refuse) -> AsyncGenerator[tuple[Forgetful, Attached]]:
    it = Forgetful(refuse)
    app = Starlette(routes=[Route("/mcp", it.endpoint, methods=["GET", "POST", "DELETE"])])
    async with served(app, lifespan=False) as url, attached(it=address(url)) as servers:
        yield it, servers


def as_error(status: int, words: str, code: int = -32000) -> Refuse:
    def refuse(message: dict[str, Any]) -> Response:
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": words}}
        return Response(json.dumps(error), status, media_type="application/json")

    return refuse


def plainly(status: int, text: str = "", kind: str | None = None) -> Refuse:
    def refuse(message: dict[str, Any]) -> Response:
        return Response(text, status, media_type=kind)

    return refuse


class Nobody(set[str]):
    """Sessions of which none is known."""

    def __contains__(self, session: object) -> bool:
        return False


@pytest.mark.parametrize(
    "refuse",
    [
        as_error(404, "Session not found"),
        as_error(400, "Bad Request: No valid session ID provided"),
        as_error(401, "Session not found", -32001),
        as_error(503, "unknown session"),
        as_error(200, "Session not found", -32001),
        plainly(400, "Invalid session", "text/plain"),
        plainly(401, '{"error": "session expired"}', "application/json"),
        plainly(404),
    ],
    ids=["404", "400", "401", "503", "200", "text", "other error", "bare 404"],
)
async def test_a_forgotten_session_is_begun_anew_and_the_call_sent_again(refuse: Refuse) -> None:
    """The server did not know the session, so that it did nothing; the log says so."""
    with capture_logs() as lines:
        async with forgetful(refuse) as (it, servers):
            it.known = set()
            assert body(await servers.call("it")) == "done"
            assert (len(it.sessions), it.ran) == (2, 1)
    assert "mcp_session_begun_anew" in [line["event"] for line in lines]


@pytest.mark.parametrize("status", [400, 401, 403, 500, 503])
async def test_a_status_without_words_begins_a_new_session_and_repeats_no_call(status: int) -> None:
    """It may have another reason, and the call may have run: whoever called decides."""
    async with forgetful(plainly(status)) as (it, servers):
        it.known = set()
        first = await servers.call("it")
        assert first.is_error
        assert f"HTTP status {status}" in body(first)
        await servers.until(lambda: len(it.sessions) > 1 and servers.state.status == "connected")
        assert it.ran == 0
        assert body(await servers.call("it")) == "done"


async def test_a_server_that_keeps_no_session_is_not_asked_for_ever() -> None:
    """One more time, and then the reason."""
    async with forgetful(as_error(404, "Session not found")) as (it, servers):
        calls = 0

        def refuse(message: dict[str, Any]) -> Response:
            nonlocal calls
            calls += message.get("method") == "tools/call"
            return as_error(404, "Session not found")(message)

        it.refuse = refuse
        it.known = Nobody()
        with pytest.raises(ServerUnreachable, match="Nothing was done"):
            await servers.call("it")
        assert calls <= 2


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            Response("slow down", 429, {"retry-after": "30"}, "text/plain"),
            "HTTP status 429 (Too Many Requests), to be tried again in 30 s: slow down",
        ),
        (Response("<html>Bad gateway</html>", 502, media_type="text/html"), "HTTP status 502 (Bad Gateway)"),
        (Response('{"detail": [{"msg": "no such"}]}', 422, media_type="application/json"), "no such"),
        (Response("not here", 599), "HTTP status 599"),
    ],
)  # fmt: skip
async def test_the_status_of_a_failed_call_is_told_to_the_model_and_the_log(
    answer: Response, words: str
) -> None:
    """So that it waits, or does something else."""

    async def endpoint(request: Request) -> Response:
        if request.method != "POST":
            return Response(status_code=405)
        message = await request.json()
        if "id" not in message:
            return Response(status_code=202)
        known = {"initialize": INITIALIZED, "tools/list": LISTED}.get(message["method"])
        if message["method"] == "tools/call":
            return answer
        if known is None:
            return Response(status_code=404)
        return Response(
            json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": known}),
            media_type="application/json",
        )

    app = Starlette(routes=[Route("/mcp", endpoint, methods=["GET", "POST", "DELETE"])])
    with capture_logs() as lines:
        async with served(app, lifespan=False) as url, attached(it=address(url)) as servers:
            output = await servers.call("it")
    assert output.is_error
    assert words in body(output)
    (line,) = [line for line in lines if line["event"] == "mcp_call_refused"]
    assert line["status"] == answer.status_code


class OlderServer:
    """HTTP with SSE, as of 2024-11-05: a stream at /mcp, and messages at the address that it names."""

    def __init__(self, endpoint: str = "/messages?session_id=1") -> None:
        self.endpoint = endpoint
        self.sent: asyncio.Queue[str] = asyncio.Queue()
        self.fails = 0

    async def stream(self, request: Request) -> Response:
        if request.method == "POST":
            return Response(status_code=405)
        self.sent = asyncio.Queue()

        async def events() -> AsyncGenerator[str]:
            yield f"event: endpoint\ndata: {self.endpoint}\n\n: ping\n\n"
            while True:
                yield f"event: message\ndata: {await self.sent.get()}\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    async def message(self, request: Request) -> Response:
        message = await request.json()
        if self.fails:
            return Response("out of order", self.fails, media_type="text/plain")
        results: dict[str, Any] = {
            "initialize": INITIALIZED | {"protocolVersion": "2024-11-05"},
            "tools/list": LISTED,
        }
        results["tools/call"] = {"content": [{"type": "text", "text": "half \ud83d"}]}
        if (found := results.get(message["method"])) is not None:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": found}
        else:
            answer = {"jsonrpc": "2.0", "id": message.get("id"), "error": {"code": -32601, "message": "no"}}
        if "id" in message:
            await self.sent.put(json.dumps(answer))
        return Response("Accepted", 202)


@asynccontextmanager
async def older(it: OlderServer, **settings: Any) -> AsyncGenerator[Attached]:
    routes = [
        Route("/mcp", it.stream, methods=["GET", "POST"]),
        Route("/messages", it.message, methods=["POST"]),
    ]
    async with (
        served(Starlette(routes=routes), lifespan=False) as url,
        attached(it=address(url, **settings)) as servers,
    ):
        yield servers


@pytest.mark.parametrize("transport", ["auto", "sse"])
async def test_the_older_transport_is_found_and_spoken(transport: str) -> None:
    """By the status with which its servers refuse what they do not know."""
    async with older(OlderServer(), transport=transport) as servers:
        assert servers.state.status == "connected"
        assert body(await servers.call("it")) == "half \ufffd"


async def test_a_message_that_the_older_transport_cannot_send_ends_its_call() -> None:
    """With the status, at once; the session goes on."""
    it = OlderServer()
    async with older(it) as servers:
        it.fails = 502
        assert "HTTP status 502" in body(await servers.call("it"))
        it.fails = 0
        assert body(await servers.call("it")) == "half \ufffd"


@pytest.mark.parametrize("named", ["http://127.0.0.1:9/steal", "//evil.example/x", "http://[", "ftp://a"])
async def test_an_older_server_gets_no_messages_sent_elsewhere(named: str) -> None:
    """The headers of the settings are for its own origin."""
    async with older(OlderServer(named), transport="sse") as servers:
        assert servers.state.status == "failed"
        assert "address for messages" in (servers.state.error or "")


async def test_a_server_of_no_transport_is_told_by_its_first_answer() -> None:
    app = Starlette(routes=[])
    async with served(app, lifespan=False) as url, attached(it=address(url)) as servers:
        assert servers.state.error == "it answers with HTTP status 404"


async def test_a_cursor_that_repeats_ends_the_list() -> None:
    """Three pages are asked for, not a hundred."""
    asked = 0

    async def endpoint(request: Request) -> Response:
        nonlocal asked
        if request.method != "POST":
            return Response(status_code=405)
        message = await request.json()
        if "id" not in message:
            return Response(status_code=202)
        results: dict[str, Any] = {"initialize": INITIALIZED, "tools/list": LISTED | {"nextCursor": ""}}
        asked += message["method"] == "tools/list"
        if (found := results.get(message["method"])) is None:
            return Response(status_code=404)
        return Response(
            json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": found}),
            media_type="application/json",
        )

    app = Starlette(routes=[Route("/mcp", endpoint, methods=["GET", "POST", "DELETE"])])
    async with served(app, lifespan=False) as url, attached(it=address(url)) as servers:
        assert servers.names() == ["mcp__it__it"]
    assert asked == 2


NAMES = (
    "type",
    "text",
    "data",
    "uri",
    "name",
    "resource",
    "blob",
    "mimeType",
    "_meta",
    "annotations",
    "size",
)
KINDS = st.sampled_from(["text", "image", "audio", "resource", "resource_link", "tool_use"])


def _part(kind: str, more: dict[str, Any]) -> dict[str, Any]:
    return more | {"type": kind}


def _parts(inner: "st.SearchStrategy[Any]") -> "st.SearchStrategy[Any]":
    return st.builds(_part, KINDS, st.dictionaries(st.sampled_from(NAMES), inner))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | _parts(inner)
    | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["content", "structuredContent", "isError", "_meta"]), JSON))
def test_any_result_becomes_one_that_can_be_read(found: dict[str, Any]) -> None:
    """Whatever it holds."""
    for version in ("2025-06-18", "2026-07-28"):
        more = {"resultType": "complete"} if version > "2026" else {}
        validate_server_result("tools/call", version, mended_result(found) | more)


@given(JSON)
def test_any_value_is_a_message_or_none(value: Any) -> None:
    """Nothing else than ValueError is raised."""
    for text in (
        json.dumps(value),
        json.dumps({"id": 1, "error": value}),
        json.dumps({"id": 1, "result": value}),
    ):
        try:
            read_messages(text.encode(), 1, mended_result)
        except ValueError:
            continue


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20))
def test_whole_texts_stay_as_they_are(text: str) -> None:
    """What is well formed is not touched."""
    for written in (json.dumps(text), json.dumps(text, ensure_ascii=False)):
        assert json.loads(whole_characters(written.encode())) == text


def listing(*tools: Any, **page: Any) -> dict[str, Any]:
    return {"initialize": INITIALIZED, "tools/list": {"tools": tools, **page}}


def beginning(**own: Any) -> dict[str, Any]:
    given = {key: value for key, value in {**INITIALIZED, **own}.items() if value != "absent"}
    return {"initialize": given, "tools/list": LISTED}


@pytest.mark.parametrize(
    "known",
    [
        beginning(serverInfo="absent"),
        beginning(serverInfo={"name": "x", "version": 1}),
        beginning(serverInfo={"name": "x"}, instructions=["a"], _meta=[]),
        beginning(serverInfo="x"),
        beginning(capabilities="absent"),
        beginning(capabilities=[]),
        beginning(capabilities={"tools": [], "logging": [], "experimental": []}),
        beginning(capabilities={"tools": True}),
        beginning(capabilities={"tools": {"listChanged": "perhaps"}}),
        beginning(protocolVersion="absent"),
        beginning(protocolVersion="2024-10-07"),
        listing({"name": "it"}),
        listing({"name": "it", "inputSchema": None, "annotations": [], "icons": [{"src": 1}]}),
        listing({"name": "it", "inputSchema": [], "description": 5, "title": {}}),
        listing({"name": "it", "inputSchema": '{"type": "object"}', "execution": 1}),
        listing({"name": "it", "input_schema": {"type": "object"}}, nextCursor={}),
        listing(None, 1, {"name": 5}, {"name": "it", "inputSchema": {"properties": []}}),
        {"initialize": INITIALIZED, "tools/list": {"tools": {"it": {"description": "by name"}}}},
    ],
)
async def test_a_server_that_says_of_itself_what_it_can_is_used(known: dict[str, Any]) -> None:
    """Servers in languages without types leave fields out, or write an empty object as an empty list."""
    answer = json.dumps(result(content=[{"type": "text", "text": "here"}]))
    async with attached(it=program("-c", PROGRAM, answer, json.dumps(known))) as servers:
        assert body(await servers.call("it")) == "here"


@pytest.mark.parametrize("listed", [{}, {"tools": None}, {"tools": "none"}, {"tools": []}])
async def test_a_server_without_tools_is_connected(listed: dict[str, Any]) -> None:
    known = {"initialize": INITIALIZED, "tools/list": listed}
    async with attached(it=program("-c", PROGRAM, json.dumps(""), json.dumps(known))) as servers:
        assert servers.state.status == "connected"
        assert servers.names() == []


async def test_a_page_that_comes_again_is_nothing_that_is_left_out() -> None:
    """Also under a cursor that is no cursor."""
    with capture_logs() as lines:
        async with attached(
            it=program("-c", PROGRAM, json.dumps(""), json.dumps(listing({"name": "it"}, nextCursor="")))
        ) as servers:
            assert servers.names() == ["mcp__it__it"]

    assert not [line for line in lines if line["event"] == "mcp_tools_left_out"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(("name", "description", "inputSchema", "properties", "type", "annotations")),
                inner,
                max_size=4,
            )
        ),
    )
)
def test_any_list_becomes_one_that_can_be_read(tools: Any) -> None:
    """Of whatever a server calls its tools."""
    reading = ToolList()
    page = reading.mended({"tools": tools})
    validate_server_result("tools/list", "2025-06-18", page)
    validate_server_result("tools/list", "2026-07-28", page)
    reading.take(tool["name"] for tool in page["tools"])
    assert len(reading.tools) == len(page["tools"])


@given(
    st.dictionaries(
        st.sampled_from(("protocolVersion", "capabilities", "serverInfo", "tools", "_meta")),
        st.none()
        | st.text(max_size=3)
        | st.lists(st.none(), max_size=1)
        | st.dictionaries(
            st.sampled_from(("tools", "name", "version")),
            st.none() | st.booleans() | st.lists(st.none(), max_size=1) | st.integers(),
        ),
    )
)
def test_any_beginning_becomes_one_that_can_be_read(found: dict[str, Any]) -> None:
    """Whatever is in it."""
    validate_server_result("initialize", "2025-06-18", mended_handshake(found))
    discovered = mended_handshake({**found, "supportedVersions": ["2026-07-28"]})
    validate_server_result("server/discover", "2026-07-28", discovered)
