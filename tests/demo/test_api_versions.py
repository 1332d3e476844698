"""The demo takes the headers that the API takes, and refuses what each of its versions refuses."""

import json
from typing import Any

import pytest

from gateway.demo.api_versions import NEWEST, VERSIONS, KeyHeader
from gateway.demo.server import serve_demo
from tests.demo.bare import ask, fetch
from tests.demo.conftest import Send

pytestmark = pytest.mark.anyio

OLDER = VERSIONS[0]
CITED: dict[str, Any] = {"type": "text", "text": "As it says.", "citations": [{"type": "page", "n": 1}]}
RESULT: dict[str, Any] = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [CITED]}
CALL: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": "calculate", "input": {}}
DOCUMENT: dict[str, Any] = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "Some words."},
}


def messages(*content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": blocks} for n, blocks in enumerate(content)]


@pytest.mark.parametrize(
    ("headers", "status", "message"),
    [
        ({"anthropic_version": ""}, 400, "anthropic-version: header is required"),
        ({"anthropic_version": "2024-10-22"}, 400, 'anthropic-version: "2024-10-22" is not a valid version'),
        ({"x_api_key": ""}, 401, "header is required"),
        ({"x_api_key": "bad-key"}, 401, "invalid x-api-key"),
        ({"x_api_key": "", "authorization": "Bearer bad-key"}, 401, "Invalid bearer token"),
        ({"x_api_key": "", "authorization": "Basic dXNlcjpwYXNz"}, 401, "header is required"),
    ],
)
async def test_headers_are_refused_in_the_api_s_words(
    send: Send, headers: dict[str, str], status: int, message: str
) -> None:
    """A missing or unknown version is a 400, a missing or wrong key a 401, wherever it is asked."""
    for path in ("/v1/messages", "/v1/messages/count_tokens"):
        received = await send(ask("hello"), path=path, **headers)
        assert received.status == status
        assert message in json.loads(received.body)["error"]["message"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("key", [{"x_api_key": "any"}, {"x_api_key": "", "authorization": "Bearer any"}])
async def test_each_version_and_each_header_is_taken(send: Send, version: str, key: dict[str, str]) -> None:
    """By itself the demo takes all that the API takes."""
    assert (await send(ask("/say yes"), anthropic_version=version, **key)).text == "yes"


@pytest.mark.parametrize("name", ["temperature", "top_p", "top_k"])
async def test_sampling_parameters_are_refused_since_the_newest_version(send: Send, name: str) -> None:
    """Even at their defaults, and for a count as well; the version before takes them."""
    for value in (1, None):
        asked = ask("/say yes", **{name: value})
        assert (await send(asked, anthropic_version=OLDER)).text == "yes"
        for path in ("/v1/messages", "/v1/messages/count_tokens"):
            received = await send(asked, path=path, anthropic_version=NEWEST)
            assert received.status == 400
            assert name in json.loads(received.body)["error"]["message"]


@pytest.mark.parametrize(
    ("model", "status"),
    [("claude-opus-4-8", 400), ("claude-sonnet-5-5", 400), ("claude-opus-4-6", 200), ("demo", 200)],
)
async def test_newer_models_take_no_budget_for_thinking(send: Send, model: str, status: int) -> None:
    """In every version, and for a count as well; all of them take adaptive thinking."""
    budget = {"type": "enabled", "budget_tokens": 1024}
    for version in VERSIONS:
        for path in ("/v1/messages", "/v1/messages/count_tokens"):
            asked = ask("/say yes", model=model, thinking=budget)
            received = await send(asked, path=path, anthropic_version=version)
            assert received.status == status
            assert status == 200 or b"thinking.type" in received.body
        adaptive = ask("/say yes", model=model, thinking={"type": "adaptive", "display": "summarized"})
        assert (await send(adaptive, anthropic_version=version)).text == "yes"


@pytest.mark.parametrize(
    ("content", "newest", "older"),
    [
        (messages([CITED]), 400, 200),
        (messages([{**CITED, "citations": []}]), 200, 200),
        (messages([{"type": "text", "text": "x"}], [CALL], [RESULT]), 400, 200),
        (messages([{"type": "text", "text": "x"}], [CITED], [{"type": "text", "text": "y"}]), 200, 200),
        (messages([{"type": "text", "text": "x"}], [DOCUMENT], [{"type": "text", "text": "y"}]), 400, 400),
    ],
)
async def test_what_the_newest_version_refuses_of_messages(
    send: Send, content: list[dict[str, Any]], newest: int, older: int
) -> None:
    """Citations in a user's text, that of tool results included; documents of the assistant never pass."""
    for version, status in ((NEWEST, newest), (OLDER, older)):
        received = await send(ask("", messages=content, stream=False), anthropic_version=version)
        assert received.status == status, received.body


@pytest.mark.parametrize(("wanted", "other"), [("bearer", "x-api-key"), ("x-api-key", "bearer")])
async def test_the_demo_can_want_one_way(wanted: KeyHeader, other: KeyHeader) -> None:
    """One header of the key and one version: a key in the other header is none."""
    key = {"bearer": {"x_api_key": "", "authorization": "Bearer any"}, "x-api-key": {"x_api_key": "any"}}
    async with serve_demo(pace=0, version=OLDER, key_header=wanted) as url:
        right = await fetch(url, ask("/say yes"), anthropic_version=OLDER, **key[wanted])
        wrong_key = await fetch(url, ask("/say yes"), anthropic_version=OLDER, **key[other])
        wrong_version = await fetch(url, ask("/say yes"), anthropic_version=NEWEST, **key[wanted])
    assert right.text == "yes"
    assert (wrong_key.status, wrong_version.status) == (401, 400)
