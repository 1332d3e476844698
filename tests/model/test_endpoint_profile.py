"""How an endpoint wants to be asked: by version of the API, header of the key, and what its refusals tell."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Literal

import anthropic
import httpx2
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.demo.api_versions import KeyHeader
from gateway.model.anthropic import AnthropicModel
from gateway.model.base import Answer, Delta, Model, ModelRequest
from gateway.model.endpoint_facts import ModelFacts
from gateway.model.endpoint_profile import (
    MAX_MODELS,
    NEWEST_VERSION,
    OLDER_VERSION,
    SAMPLING,
    EndpointProfile,
    left_out,
)
from tests.loopback import served
from tests.product import Message, ModelError, SettingsError, load_settings, serve_demo, text_block

pytestmark = pytest.mark.anyio

KEY = "sk-ant-secret-key-0123456789"
WHOLE = b"".join(
    b"data: %b\n\n" % orjson.dumps(event)
    for event in (
        {"type": "message_start", "message": {"id": "m"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_stop"},
    )
)


def asking(text: str = "/say hi", *, model: str = "demo", temperature: float | None = None) -> ModelRequest:
    messages = [Message("user", [text_block(text)])]
    return ModelRequest(model, max_tokens=100, system=[], messages=messages, temperature=temperature)


@asynccontextmanager
async def model_at(url: str, **given: Any) -> AsyncGenerator[Model]:
    model = AnthropicModel(api_key=KEY, base_url=url, **given)
    try:
        yield model
    finally:
        await model.close()


async def said(model: Model, request: ModelRequest) -> str:
    async with model.stream(request) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, Answer):
                return "".join(block["text"] for block in chunk.content)
    raise AssertionError("no answer")


async def failure(model: Model, request: ModelRequest) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await said(model, request)
    assert KEY not in str(raised.value)
    return raised.value


async def calls(url: str) -> int:
    """How many model calls the demo has seen, those that it refused included."""
    async with httpx2.AsyncClient(trust_env=False) as client:
        return (await client.get(f"{url}/demo/requests")).json()["counters"]["started"]


Seen = tuple[dict[str, str], dict[str, Any]]
"""The headers and the body of a request."""


@asynccontextmanager
async def judging(
    judge: Callable[[dict[str, str], dict[str, Any]], tuple[int, str] | None],
) -> AsyncGenerator[tuple[str, list[Seen]]]:
    """An endpoint that answers unless `judge` says with which status and words not; and its requests."""
    seen: list[Seen] = []

    async def messages(request: Request) -> Response:
        seen.append((dict(request.headers), orjson.loads(await request.body())))
        if (refusal := judge(*seen[-1])) is not None:
            status, message = refusal
            error = {"type": "invalid_request_error", "message": message}
            return Response(orjson.dumps({"type": "error", "error": error}), status)
        return Response(WHOLE, media_type="text/event-stream")

    async with served(Starlette(routes=[Route("/v1/messages", messages, methods=["POST"])])) as url:
        yield url, seen


def test_the_newest_version_is_the_one_that_the_sdk_sends() -> None:
    """A new major version of the SDK may send another: then this module is to be looked at again."""
    assert anthropic.AsyncAnthropic(api_key="any").default_headers["anthropic-version"] == NEWEST_VERSION


@pytest.mark.parametrize("version", [None, OLDER_VERSION, NEWEST_VERSION])
@pytest.mark.parametrize("key_header", [None, "bearer", "x-api-key"])
async def test_an_endpoint_that_wants_one_way_is_asked_that_way(
    version: str | None, key_header: KeyHeader | None
) -> None:
    """Either version and either header, with no setting: what it refuses first is asked once more the other
    way, and from then on at once."""
    adapted: list[str] = []
    async with (
        serve_demo(pace=0, version=version, key_header=key_header) as url,
        model_at(url, adapted=adapted.append) as model,
    ):
        assert await said(model, asking(temperature=0.5)) == "hi"
        refused = await calls(url) - 1
        assert await said(model, asking("/say again", temperature=0.5)) == "again"
        assert await calls(url) == refused + 2
        assert await model.count_tokens(asking())
    wanted = [
        *(["GATEWAY_MODEL_AUTH=x-api-key"] if key_header == "x-api-key" else []),
        *([f"GATEWAY_MODEL_API_VERSION={OLDER_VERSION}"] if version == OLDER_VERSION else []),
    ]
    assert refused == len(wanted)
    assert [setting for setting in wanted if setting not in " ".join(adapted)] == []
    assert len(adapted) == len(wanted)


@pytest.mark.parametrize("version", [OLDER_VERSION, NEWEST_VERSION])
@pytest.mark.parametrize("key_header", ["bearer", "x-api-key"])
async def test_what_is_set_is_sent_at_once(version: str, key_header: Literal["bearer", "x-api-key"]) -> None:
    """With both settings the first request is right."""
    async with (
        serve_demo(pace=0, version=version, key_header=key_header) as url,
        model_at(url, api_version=version, key_header=key_header) as model,
    ):
        assert await said(model, asking(temperature=0.5)) == "hi"
        assert await calls(url) == 1


@pytest.mark.parametrize(
    ("given", "code"),
    [({"key_header": "bearer"}, "upstream_auth"), ({"api_version": NEWEST_VERSION}, "upstream_error")],
)
async def test_what_is_set_stays_as_it_is_set(given: dict[str, str], code: str) -> None:
    """An operator who names a header or a version gets no other one sent."""
    async with (
        serve_demo(pace=0, version=OLDER_VERSION, key_header="x-api-key") as url,
        model_at(url, **({"key_header": "x-api-key", "api_version": OLDER_VERSION} | given)) as model,
    ):
        assert (await failure(model, asking())).code == code
        assert await calls(url) == 1


async def test_a_temperature_goes_only_where_the_version_takes_one() -> None:
    """The newest version refuses it even at its default, so it is not sent; the older one gets it."""
    async with judging(lambda _, __: None) as (url, seen):
        async with model_at(url) as model:
            await said(model, asking(temperature=1.0))
        async with model_at(url, api_version=OLDER_VERSION) as model:
            await said(model, asking(temperature=0.5))
    (newest, first), (older, second) = seen
    assert (newest["anthropic-version"], newest["authorization"]) == (NEWEST_VERSION, f"Bearer {KEY}")
    assert "x-api-key" not in newest
    assert "temperature" not in first
    assert older["anthropic-version"] == OLDER_VERSION
    assert second["temperature"] == 0.5


async def test_a_model_that_takes_no_temperature_is_asked_without() -> None:
    """Newer models refuse it in the older version too; other models at the endpoint still get it."""

    def judge(_: dict[str, str], body: dict[str, Any]) -> tuple[int, str] | None:
        if body["model"] == "new" and "temperature" in body:
            return 400, "`temperature` is deprecated for this model."
        return None

    adapted: list[str] = []
    async with (
        judging(judge) as (url, seen),
        model_at(url, api_version=OLDER_VERSION, adapted=adapted.append) as model,
    ):
        for name in ("new", "new", "old"):
            assert await said(model, asking(model=name, temperature=0.5)) == "hi"
    assert [(body["model"], "temperature" in body) for _, body in seen] == [
        ("new", True),
        ("new", False),
        ("new", False),
        ("old", True),
    ]
    assert len(adapted) == 1


async def test_a_model_that_takes_no_budget_for_thinking_decides_itself() -> None:
    """It refuses `enabled` and is asked once more with `adaptive`, from then on at once, also for a count of
    tokens, and shows what it thinks; other models keep their budget."""
    adapted: list[str] = []
    thoughtful = replace(
        asking("/think Let me see.\n/say hi", model="claude-opus-4-8"), max_tokens=4096, thinking_budget=1024
    )
    async with serve_demo(pace=0) as url, model_at(url, adapted=adapted.append) as model:
        async with model.stream(thoughtful) as chunks:
            thought = "".join([c.text async for c in chunks if isinstance(c, Delta) and c.kind == "thinking"])
        assert thought == "Let me see."
        assert await calls(url) == 2
        assert await model.count_tokens(thoughtful)
        async with model.stream(replace(thoughtful, model="demo")) as chunks:
            assert [chunk async for chunk in chunks]
        async with model.stream(thoughtful) as chunks:
            assert [chunk async for chunk in chunks]
        assert await calls(url) == 4
        async with httpx2.AsyncClient(trust_env=False) as client:
            requests = (await client.get(f"{url}/demo/requests")).json()["requests"]
    budget = {"type": "enabled", "budget_tokens": 1024}
    adaptive = {"type": "adaptive", "display": "summarized"}
    asked = [request["body"]["thinking"] for request in requests]
    assert sorted(asked, key=str) == [adaptive, adaptive, budget, budget]
    assert len(adapted) == 1
    assert "claude-opus-4-8" in adapted[0]


async def test_a_budget_that_is_wrong_stays_a_refusal() -> None:
    """Only a refusal of the kind of thinking is a reason to ask in the other."""
    text = "`max_tokens` must be greater than `thinking.budget_tokens`."
    async with judging(lambda _, __: (400, text)) as (url, seen), model_at(url) as model:
        assert (await failure(model, replace(asking(), thinking_budget=1024))).refused
    assert len(seen) == 1


def test_what_models_do_not_take_is_remembered_of_so_many() -> None:
    """Whatever names requests have: what is known is bounded, and found out again."""
    endpoint = EndpointProfile(OLDER_VERSION, "bearer", has_key=True, adapted=lambda _: None)
    for number in range(MAX_MODELS + 1):
        first = endpoint.way(f"m{number}", {}, thinks=True)
        endpoint.answered(f"m{number}", first, replace(first, thinking="adaptive"), {})
    assert endpoint.way(f"m{MAX_MODELS}", {}, thinks=True).thinking == "adaptive"
    assert endpoint.way("m0", {}, thinks=True).thinking == "enabled"


@pytest.mark.parametrize(
    ("status", "message"),
    [(401, "Unauthorized"), (403, "Forbidden"), (422, "header x-api-key: Field required")],
)
async def test_whatever_words_an_endpoint_has_for_a_missing_header(status: int, message: str) -> None:
    """401 and 403 say little; other refusals count when they name the header."""
    async with (
        judging(lambda headers, _: None if "x-api-key" in headers else (status, message)) as (url, seen),
        model_at(url) as model,
    ):
        assert await said(model, asking()) == "hi"
    assert "authorization" not in seen[-1][0]


async def test_a_wrong_key_is_refused_in_the_endpoint_s_first_words() -> None:
    """Both headers are tried, each once, and nothing is learned from that."""
    async with (
        judging(lambda headers, _: (401, "bad token" if "authorization" in headers else "?")) as (url, seen),
        model_at(url) as model,
    ):
        for _ in range(2):
            error = await failure(model, asking())
            assert (error.code, error.retryable) == ("upstream_auth", False)
            assert "bad token" in error.message
    assert ["x-api-key" in headers for headers, _ in seen] == [False, True, False, True]


async def test_a_key_that_worked_and_is_refused_later_is_no_question_of_its_header() -> None:
    """A key that was revoked is not offered in other ways."""
    revoked: list[bool] = []
    async with (
        judging(lambda _, __: (401, "revoked") if revoked else None) as (url, seen),
        model_at(url) as model,
    ):
        await said(model, asking())
        revoked.append(True)
        assert (await failure(model, asking())).code == "upstream_auth"
    assert len(seen) == 2


async def test_a_failure_of_the_other_way_is_told_as_what_it_is() -> None:
    """The second header was right and the endpoint is overloaded: another attempt may help."""
    async with (
        judging(lambda headers, _: (529, "later") if "x-api-key" in headers else (401, "no")) as (url, _),
        model_at(url) as model,
    ):
        error = await failure(model, asking())
    assert (error.code, error.retryable) == ("upstream_overloaded", True)


async def test_any_other_refusal_is_asked_once() -> None:
    """A refusal that names nothing of the way it was asked in stays what it is."""
    async with (
        judging(lambda _, __: (400, "messages: Field required")) as (url, seen),
        model_at(url) as model,
    ):
        assert (await failure(model, asking())).refused
    assert len(seen) == 1


def test_a_temperature_that_is_not_sent_is_told() -> None:
    """At the start and by the doctor; where the version takes one there is nothing to tell."""
    warning = left_out(load_settings(temperature=0.5))
    assert warning is not None
    assert "GATEWAY_TEMPERATURE is not sent" in warning
    assert f"GATEWAY_MODEL_API_VERSION={OLDER_VERSION}" in warning
    assert left_out(load_settings(temperature=0.5, model_api_version=OLDER_VERSION)) is None
    assert left_out(load_settings()) is None


# A proxy on the way


@asynccontextmanager
async def proxying(*, refuses: bool = False) -> AsyncGenerator[tuple[str, list[str]]]:
    """An HTTP proxy that passes on one request of each connection, and what it was asked for."""
    asked: list[str] = []

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(head)
        if refuses:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
        else:
            size = int(head.lower().partition("content-length:")[2].split("\r\n")[0])
            where = httpx2.URL(head.split(" ")[1])
            there, here = await asyncio.open_connection(where.host, where.port)
            rest = head.replace(head.split(" ")[1], where.path, 1).replace(
                "\r\n", "\r\nconnection: close\r\n", 1
            )
            here.write(rest.encode() + await reader.readexactly(size))
            writer.write(await there.read())
            here.close()
        writer.close()

    server = await asyncio.start_server(pass_on, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", asked


async def test_a_proxy_that_is_set_is_used_and_one_of_the_environment_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With its user name and password; without the setting the endpoint is asked directly."""
    async with proxying() as (proxy, asked), serve_demo(pace=0) as url:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://{proxy}")
        async with model_at(url) as model:
            assert await said(model, asking()) == "hi"
        assert asked == []
        async with model_at(url, proxy=f"http://user:pass@{proxy}") as model:
            assert await said(model, asking("/say through")) == "through"
    (head,) = asked
    assert head.startswith(f"POST {url}/v1/messages ")
    assert "Proxy-Authorization: Basic dXNlcjpwYXNz" in head


async def test_a_proxy_that_refuses_is_told_without_its_password() -> None:
    """Of a tunnel to an endpoint with TLS, and of a proxy that is not there."""
    async with proxying(refuses=True) as (proxy, _):
        async with model_at("https://model.example", proxy=f"http://user:secret@{proxy}") as model:
            error = await failure(model, asking())
        assert "the proxy answers with HTTP 407" in error.message
    async with model_at("http://model.example", proxy=f"http://user:secret@{proxy}") as model:
        gone = await failure(model, asking())
    assert (gone.code, gone.retryable) == ("upstream_error", True)
    assert "secret" not in error.message + gone.message


async def test_a_proxy_that_is_no_address_is_a_wrong_setting() -> None:
    """Found when the model is made."""
    with pytest.raises(SettingsError, match="GATEWAY_MODEL_PROXY"):
        AnthropicModel(proxy="proxy.example:3128")


# Parts of a request that not all endpoints take


def _marked(**given: Any) -> ModelRequest:
    point = {"cache_control": {"type": "ephemeral"}}
    messages = [Message("user", [text_block("/say hi") | point])]
    return ModelRequest(
        "m", max_tokens=100, system=[text_block("Be brief.") | point], messages=messages, **given
    )


@pytest.mark.parametrize(
    ("part", "words", "wanted"),
    [
        ("cache_control", "system.0.cache_control: Extra inputs are not permitted", {}),
        ("stop_sequences", "stop_sequences: Extra inputs are not permitted", {"stop_sequences": ("END",)}),
        ("temperature", "temperature: Extra inputs are not permitted", {"temperature": 0.5}),
        ("top_k", "`top_k` is not supported", {"top_k": 5, "temperature": 0.5}),
    ],
)
async def test_what_an_endpoint_refuses_is_left_out_from_then_on(
    part: str, words: str, wanted: dict[str, Any]
) -> None:
    """It is asked once more without, the operator is told, and everything else stays."""

    def judge(_: dict[str, str], body: dict[str, Any]) -> tuple[int, str] | None:
        return (400, words) if part in orjson.dumps(body).decode() else None

    adapted: list[str] = []
    async with (
        judging(judge) as (url, seen),
        model_at(url, api_version=OLDER_VERSION, adapted=adapted.append) as model,
    ):
        assert await said(model, _marked(**wanted)) == "hi"
        assert await said(model, _marked(**wanted)) == "hi"
    refused, asked, again = [body for _, body in seen]
    assert part in orjson.dumps(refused).decode()
    assert asked == again
    assert len(adapted) == 1
    left = {name for name in ("temperature", "top_k", "stop_sequences") if name in asked}
    assert left == {*wanted} - {part}
    assert ("cache_control" in orjson.dumps(asked).decode()) == (part != "cache_control")


async def test_of_two_sampling_parameters_a_model_may_take_but_one() -> None:
    """It is asked with the temperature; alone the other one is sent as well."""

    def judge(_: dict[str, str], body: dict[str, Any]) -> tuple[int, str] | None:
        both = "temperature" in body and "top_p" in body
        return (400, "`temperature` and `top_p` cannot both be specified for this model.") if both else None

    async with judging(judge) as (url, seen), model_at(url, api_version=OLDER_VERSION) as model:
        await said(model, _marked(temperature=0.5, top_p=0.5))
        await said(model, _marked(temperature=0.5, top_p=0.5))
        await said(model, _marked(top_p=0.5))
    names = [sorted({"temperature", "top_p"} & body.keys()) for _, body in seen]
    assert names == [["temperature", "top_p"], ["temperature"], ["temperature"], ["top_p"]]


async def test_stop_sequences_of_white_space_are_left_out_alone() -> None:
    """Clients of other APIs stop at a line's end, which Anthropic's refuses: the others stay."""

    def judge(_: dict[str, str], body: dict[str, Any]) -> tuple[int, str] | None:
        blank = any(not each.strip() for each in body.get("stop_sequences", ()))
        return (400, "stop_sequences: each stop sequence must contain non-whitespace") if blank else None

    async with judging(judge) as (url, seen), model_at(url) as model:
        for stops in (("\n", "END"), ("\n",), ("END",)):
            await said(model, _marked(stop_sequences=stops))
    assert [body.get("stop_sequences") for _, body in seen] == [["\n", "END"], ["END"], None, ["END"]]


async def test_a_temperature_is_at_most_what_anthropic_s_api_takes() -> None:
    """Another API's range goes to 2."""
    async with (
        judging(lambda _, __: None) as (url, seen),
        model_at(url, api_version=OLDER_VERSION) as model,
    ):
        model.facts.kind = "anthropic"
        await said(model, _marked(temperature=1.5))
    assert seen[0][1]["temperature"] == 1.0


async def test_a_temperature_that_is_too_high_says_nothing_about_lower_ones() -> None:
    """A client of another API asks for 1.5: that answer goes without, the next one is asked as it wants."""

    def judge(_: dict[str, str], body: dict[str, Any]) -> tuple[int, str] | None:
        return (400, "temperature: range: 0..1") if body.get("temperature", 0) > 1 else None

    async with judging(judge) as (url, seen), model_at(url, api_version=OLDER_VERSION) as model:
        await said(model, _marked(temperature=1.5))
        await said(model, _marked(temperature=0.5))
    assert [body.get("temperature") for _, body in seen] == [1.5, None, 0.5]


@pytest.mark.parametrize(("kind", "sent"), [(None, False), ("anthropic", False), ("llama.cpp", True)])
async def test_servers_that_have_no_versions_get_sampling_parameters(kind: str | None, sent: bool) -> None:
    """The newest version of Anthropic's API takes none; a llama.cpp does not know of versions."""
    async with judging(lambda _, __: None) as (url, seen), model_at(url) as model:
        model.facts.kind = kind
        await said(model, _marked(temperature=0.5))
    assert ("temperature" in seen[0][1]) is sent


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        (None, "enabled"),
        ({"enabled", "adaptive"}, "enabled"),
        ({"adaptive"}, "adaptive"),
        (set[str](), None),
    ],
)
async def test_how_a_model_thinks_is_known_ahead(known: set[str] | None, asked: str | None) -> None:
    """What the endpoint says of it decides before anything is refused."""
    async with judging(lambda _, __: None) as (url, seen), model_at(url) as model:
        if known is not None:
            model.facts.models["m"] = ModelFacts(thinking=frozenset(known))
        await said(model, _marked(thinking_budget=50))
    assert seen[0][1].get("thinking", {}).get("type") == asked


PARTS = (*SAMPLING, "cache_control", "stop_sequences", "thinking.type", "anthropic-version")


@given(st.lists(st.sets(st.sampled_from(PARTS)), max_size=40))
def test_asking_in_other_ways_ends(refusals: list[set[str]]) -> None:
    """Whatever an endpoint refuses, and in whatever order: no way is tried twice."""
    endpoint = EndpointProfile(None, "auto", has_key=True, adapted=lambda _: None)
    sampling = {"temperature": 0.5, "top_p": 0.5, "top_k": 5}
    way, seen = endpoint.way("m", sampling, thinks=True), list[object]()
    for named in refusals:
        assert way not in seen
        seen.append(way)
        refusal = ModelError(
            f"{' '.join(sorted(named))} refused", code="upstream_error", retryable=False, refused=True
        )
        if (other := endpoint.other_way(way, refusal, sampling)) is None:
            break
        way = other
    assert len(seen) <= len(PARTS) + 2
    endpoint.answered("m", endpoint.way("m", sampling, thinks=True), way, sampling)
