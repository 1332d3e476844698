"""Whatever comes in: a clear 4xx of one shape, and nothing is lost."""

import asyncio
import base64
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.harness import Client, running_gateway
from tests.product import Settings

pytestmark = pytest.mark.anyio


def place(text: str) -> str:
    """A `before` that says `text`."""
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


BODIES: list[tuple[bytes, str]] = [
    (b"{", "not valid JSON"),
    (b"", "message"),
    (b"[]", "must be a JSON object"),
    (b'"text"', "must be a JSON object"),
    (b"[" * 100_000, "not valid JSON"),
    (b'{"message": ' + b"[" * 300 + b"]" * 300 + b"}", "not valid JSON: Recursion limit"),
    (b'{"message": NaN}', "not valid JSON"),
    (b'{"message": "\xff\xfe"}', "not valid JSON"),
    (b'{"message": "\\ud800"}', "not valid JSON"),
    (b'{"message": "a\\u0000b"}', "NUL"),
    (b'{"message": ""}', "message"),
    (b'{"message": "  \\n "}', "must not be empty"),
    (b'{"message": 7}', "message"),
    (b'{"message": null}', "message"),
    (b'{"message": {"text": "hi"}}', "message"),
    (b'{"message": "hi", "massage": "hi"}', "massage: unknown name"),
    (b'{"message": "hi", "session_id": "a/b"}', "session_id"),
    (b'{"message": "hi", "session_id": "' + b"x" * 65 + b'"}', "session_id"),
    (b'{"message": "hi", "sessionId": ""}', "sessionId"),
    (b'{"message": "hi", "on_conflict": "fight"}', "on_conflict"),
    (b'{"message": "hi", "model": "gpt-1"}', "must be one of"),
    (b'{"message": "hi", "client_message_id": "\\n"}', "client_message_id"),
]


@pytest.mark.parametrize(("body", "message"), BODIES)
async def test_a_bad_body_is_refused_and_the_message_says_why(
    shared_client: Client, body: bytes, message: str
) -> None:
    """400 invalid_request with the field's name; no session is made."""
    before = (await shared_client.get("/api/sessions")).json()
    response = await shared_client.http.post(
        "/api/chat", content=body, headers={"content-type": "application/json"}
    )

    assert response.status_code == 400
    error = response.json()["error"]
    assert error["code"] == "invalid_request"
    assert message.lower().replace("_", "") in error["message"].lower().replace("_", "")
    assert response.json()["request_id"] == response.headers["x-request-id"]
    assert (await shared_client.get("/api/sessions")).json() == before


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("chat", {"message": 7, "attachments": {}}, "attachments: must be a list; message: must be text"),
        ("chat", {"message": "x", "attachments": [7]}, "attachments.0: must be a JSON object"),
        ("chat", {}, "message: must be given"),
        ("memory/write", {"conversation": 5}, "conversation: must be a list of messages, or a text"),
        ("memory/write", {"messages": [{"role": "user", "content": 1}]}, "messages.0.content: must be text"),
        ("memory/retrieve", {"query": "x", "budgetTokens": "9"}, "budget_tokens: must be a whole number"),
        ("memory", {"content": "x", "pinned": "yes"}, "pinned: must be true or false"),
        (
            "session/summary",
            {"messages": "x", "trajectory": 5},
            "trajectory: must be text, or must be a list, or must be a JSON object",
        ),
        (
            "memory/correct",
            {
                "memory_id": "m",
                "action": "freeze",
                "evidence": {"sessionId": "s", "position": "1", "quote": "q"},
            },
            "evidence.position: must be a whole number; evidence: must be text",
        ),
    ],
)
async def test_a_wrong_type_is_told_in_words_of_json(
    shared_client: Client, path: str, body: dict[str, object], message: str
) -> None:
    """The field is named as the documentation does, and what it must be; no word is the library's."""
    response = await shared_client.post(f"/api/{path}", body)

    assert response.status_code == 400
    assert response.json()["error"]["message"] == message


@pytest.mark.parametrize(
    ("path", "headers", "status", "code"),
    [
        ("/api/sessions/none/events", {}, 404, "session_not_found"),
        ("/api/sessions/a%2Fb/events", {}, 404, "not_found"),
        ("/api/sessions/a%00b/events", {}, 400, "invalid_request"),
        ("/api/sessions/.../events", {}, 400, "invalid_request"),
        ("/api/sessions/{s}/events?after=99", {}, 400, "cursor_ahead"),
        ("/api/sessions/{s}/events?after=-1", {}, 400, "invalid_request"),
        ("/api/sessions/{s}/events?after=x", {}, 400, "invalid_request"),
        ("/api/sessions/{s}/events?after=1&after=2", {}, 400, "invalid_request"),
        ("/api/sessions/{s}/events?nonsense=1", {}, 400, "invalid_request"),
        ("/api/sessions/{s}/events?types=text,tixt", {}, 400, "invalid_request"),
        ("/api/sessions/{s}/events?turn_id=t_none", {}, 404, "turn_not_found"),
        ("/api/sessions/{s}/events", {"last-event-id": "abc"}, 400, "invalid_request"),
        ("/api/sessions/{s}/events", {"last-event-id": "9" * 40}, 400, "invalid_request"),
        ("/api/sessions/{s}/events", {"last-event-id": "77"}, 400, "cursor_ahead"),
        ("/api/sessions/{s}/messages/nothing", {}, 404, "not_found"),
        ("/api/sessions?limit=0", {}, 400, "invalid_request"),
        ("/api/sessions?before=%%%", {}, 400, "invalid_request"),
        ("/api/sessions?before=AAAA", {}, 400, "invalid_request"),
        (f"/api/sessions?before={place('99999999999999999999999.x')}", {}, 400, "invalid_request"),
        (f"/api/sessions?before={place('9007199254740993.x')}", {}, 400, "invalid_request"),
        (f"/api/sessions?before={place('-5.x')}", {}, 400, "invalid_request"),
        (f"/api/sessions?before={place('5')}", {}, 400, "invalid_request"),
        (f"/api/sessions?before={place('5.a/b')}", {}, 400, "invalid_request"),
        ("/api/sessions", {"host": "["}, 403, "forbidden"),
        ("/api/sessions", {"host": "::1]"}, 403, "forbidden"),
        ("/api/sessions", {"origin": "http://["}, 403, "forbidden"),
    ],
)
async def test_a_bad_path_or_query_is_refused(
    shared_client: Client, path: str, headers: dict[str, str], status: int, code: str
) -> None:
    """Unknown things are 404, malformed ones 400, never a 500."""
    session = await shared_client.session()

    response = await shared_client.get(path.replace("{s}", session), **headers)

    assert (status, code) == (response.status_code, response.json()["error"]["code"])


async def test_no_word_of_a_library_is_in_a_refusal(shared_client: Client) -> None:
    """A message is the field and what is wrong with it."""
    blank = await shared_client.post("/api/chat", {"message": " "})
    query = await shared_client.get("/api/sessions?nonsense=1")

    assert blank.json()["error"]["message"] == "message: must not be empty"
    assert query.json()["error"]["message"] == "nonsense: unknown name"


async def test_an_oversize_body_is_413(shared_client: Client) -> None:
    """The limit is a setting; the refusal has the same shape as any other."""
    response = await shared_client.post("/api/chat", {"message": "x" * 1_100_000})

    assert (response.status_code, response.json()["error"]["code"]) == (413, "payload_too_large")


async def test_a_wrong_method_is_405_and_a_form_is_not_json(shared_client: Client) -> None:
    """What a browser form could send is refused by its content type."""
    wrong = await shared_client.http.put("/api/chat")
    form = await shared_client.http.post(
        "/api/chat", content=b'{"message":"hi"}', headers={"content-type": "text/plain"}
    )

    assert (wrong.status_code, wrong.json()["error"]["code"]) == (405, "method_not_allowed")
    assert (form.status_code, form.json()["error"]["code"]) == (400, "invalid_request")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/sessions", "GET, HEAD, POST"),
        ("PUT", "/api/chat", "POST"),
        ("POST", "/openapi.json", "GET, HEAD"),
        ("POST", "/assets/page.js", "GET, HEAD"),
    ],
)
async def test_a_wrong_method_is_told_all_that_the_path_has(
    shared_client: Client, method: str, path: str, allowed: str
) -> None:
    """Of all routes with the path, as RFC 9110 asks for (15.5.6)."""
    refused = await shared_client.http.request(method, path)

    assert (refused.status_code, refused.headers["allow"]) == (405, allowed)


async def test_camel_case_names_are_accepted(client: Client) -> None:
    """Frontends that write camelCase need no translation."""
    events = await client.chat("/say hi", sessionId="mine", clientMessageId="m1")

    assert events[0]["session_id"] == "mine"
    assert events[0]["data"]["client_message_id"] == "m1"


async def test_errors_name_fields_as_the_documentation_does(shared_client: Client) -> None:
    """Whichever way they were written, in bodies inside of bodies too; an unknown one as it came."""
    evidence = [{"sessionId": "s", "quote": "tea"}]
    for path, body, message in (
        ("/api/memory/control", {}, "user_message: "),
        ("/api/memory/control", {"userMessage": 1}, "user_message: "),
        ("/api/memory", {"content": "x", "dependsOn": 1, "evidence": evidence}, "depends_on: "),
        ("/api/memory/control", {"userMessge": "x"}, "userMessge: unknown name"),
    ):
        refused = await shared_client.post(path, body)

        assert refused.status_code == 400
        assert message in refused.json()["error"]["message"]


async def test_a_foreign_page_and_a_foreign_host_name_are_refused(shared_client: Client) -> None:
    """A page of another site cannot reach a gateway on loopback, nor can a name that was pointed at it."""
    origin = await shared_client.post("/api/sessions", {}, origin="https://evil.example")
    host = await shared_client.get("/api/sessions", host="evil.example:8000")
    own = await shared_client.post("/api/sessions", {}, origin=shared_client.url)

    assert [origin.status_code, host.status_code, own.status_code] == [403, 403, 201]
    assert origin.json()["error"]["code"] == "forbidden"


async def test_a_mistake_of_ours_is_a_500_with_all_headers(settings: Settings) -> None:
    """Whatever was raised: the answer has the id under which the log tells of it, and what keeps browsers
    strict; a page of an allowed origin may read it."""
    allowed: dict[str, Any] = {"cors_origins": ("https://chat.example",)}
    async with running_gateway(settings.model_copy(update=allowed)) as client:
        whole = client.app.state.gateway
        client.app.state.gateway = None  # so that every handler is wrong
        try:
            failed = await client.get(
                "/api/sessions", **{"x-request-id": "r_mine", "origin": "https://chat.example"}
            )
        finally:
            client.app.state.gateway = whole
        metrics = (await client.get("/metrics")).text

    assert (failed.status_code, failed.json()["error"]["code"]) == (500, "internal")
    assert failed.json()["request_id"] == failed.headers["x-request-id"] == "r_mine"
    assert failed.headers["x-content-type-options"] == "nosniff"
    assert failed.headers["referrer-policy"] == "no-referrer"
    assert "default-src 'none'" in failed.headers["content-security-policy"]
    assert failed.headers["cross-origin-resource-policy"] == "same-origin"
    assert failed.headers["access-control-allow-origin"] == "https://chat.example"
    counted = [line for line in metrics.splitlines() if "request_duration_seconds_count" in line]
    assert any('"/api/sessions"' in line and '"500"' in line for line in counted)


@pytest.mark.parametrize("name", ["authorization", "x-api-key", "host", "origin"])
async def test_who_asks_is_said_once(client: Client, name: str) -> None:
    """A proxy that looks at the last of two headers would disagree with the gateway, which saw the first."""
    address = urlsplit(client.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    twice = f"{name}: {address.netloc}\r\n{name}: other\r\n"
    writer.write(f"GET /healthz HTTP/1.1\r\nconnection: close\r\n{twice}\r\n".encode())
    answer = await reader.read()
    writer.close()

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert f"The header {name} is given twice.".encode() in answer


async def test_allowed_origins_get_their_cors_headers(settings: Settings) -> None:
    """A frontend elsewhere is let in by name."""
    allowed: dict[str, Any] = {"cors_origins": ("https://chat.example",)}
    async with running_gateway(settings.model_copy(update=allowed)) as client:
        response = await client.post("/api/sessions", {}, origin="https://chat.example")

    assert response.status_code == 201
    assert response.headers["access-control-allow-origin"] == "https://chat.example"
