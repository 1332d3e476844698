"""The endpoint is asked what it is: which questions, when again, and answers that are no use."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.demo.connection import Act, Disconnect, Request
from gateway.demo.server import reply_json
from gateway.model import endpoint_inquiry, endpoint_questions
from gateway.model.anthropic import AnthropicModel
from gateway.model.base import Answer, ModelRequest
from gateway.model.endpoint_address import is_anthropics, is_local
from gateway.model.endpoint_facts import NOTHING, ModelFacts
from tests.local_endpoint import LocalEndpoint, llama, lm_studio, ollama, serving, vllm
from tests.loopback import TIMEOUT, free_port
from tests.product import Message, ModelError, SettingsError, text_block

pytestmark = pytest.mark.anyio

KEY = "sk-ant-secret-key-0123456789"


@asynccontextmanager
async def model_at(url: str, *models: str, **given: Any) -> AsyncGenerator[AnthropicModel]:
    model = AnthropicModel(base_url=url, models=lambda: models, **given)
    try:
        yield model
    finally:
        await model.close()


async def call(model: AnthropicModel, name: str = "gemma3-270m", text: str = "/say hi") -> str:
    request = ModelRequest(name, max_tokens=50, system=[], messages=[Message("user", [text_block(text)])])
    async with model.stream(request) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, Answer):
                return "".join(block["text"] for block in chunk.content)
    raise AssertionError("no answer")


async def until(check: Any) -> None:
    async with asyncio.timeout(TIMEOUT):
        while not check():
            await asyncio.sleep(0.01)


async def test_llama_cpp_is_asked_for_its_props() -> None:
    """Its list says what the model was trained for, /props what it has here; any name is that model."""
    endpoint = LocalEndpoint(llama(n_ctx=8192, slots=1))
    async with serving(endpoint) as url, model_at(url, "gemma3-270m") as model:
        await model.inquire()

        assert model.facts.kind == "llama.cpp"
        assert model.facts.slots == 1
        assert model.facts.listed == ("gemma3-270m",)
        expected = ModelFacts(8192, images=False, pdfs=False, tools=True)
        assert model.facts.of("gemma3-270m") == model.facts.of("claude-sonnet-5-5") == expected
        assert endpoint.paths() == ["GET /v1/models", "GET /props"]


async def test_vllm_says_all_in_its_list() -> None:
    """One question is enough."""
    endpoint = LocalEndpoint(vllm("Qwen/Qwen3-8B", 40_960))
    async with serving(endpoint) as url, model_at(url, "Qwen/Qwen3-8B") as model:
        await model.inquire()

        assert model.facts.kind == "vllm"
        assert model.facts.of("Qwen/Qwen3-8B").context_window == 40_960
        assert endpoint.paths() == ["GET /v1/models"]


async def test_ollama_is_asked_about_the_models_that_may_be_chosen() -> None:
    """And which are loaded; by the short name, too. What is not there says nothing."""
    told = ollama(("gemma3:latest", "qwen3:8b"), capabilities=["completion"], running={"gemma3:latest": 4096})
    endpoint = LocalEndpoint(told)
    async with serving(endpoint) as url, model_at(url, "gemma3", "away") as model:
        await model.inquire()

        assert model.facts.kind == "ollama"
        facts = model.facts.of("gemma3")
        assert (facts.context_window, facts.tools, facts.images, facts.pdfs) == (4096, False, False, False)
        assert model.facts.of("away") == NOTHING
        assert endpoint.paths() == ["GET /v1/models", "POST /api/show", "GET /api/ps", "POST /api/show"]


async def test_lm_studio_is_asked_for_its_own_list() -> None:
    """It has the window with which a model is loaded."""
    endpoint = LocalEndpoint(lm_studio(("qwen3-8b", "llm", 8192), ("e5", "embeddings", None)))
    async with serving(endpoint) as url, model_at(url, "qwen3-8b") as model:
        await model.inquire()

        assert model.facts.kind == "lm studio"
        assert model.facts.of("qwen3-8b").context_window == 8192


async def test_a_base_url_with_a_path_is_asked_below_it() -> None:
    """As llama-server behind --api-prefix, or a proxy; the key goes along."""
    told = {key.replace(" ", " /models/one", 1): value for key, value in llama().items()}
    endpoint = LocalEndpoint(told)
    async with serving(endpoint) as url, model_at(f"{url}/models/one/", "x", api_key=KEY) as model:
        await model.inquire()

        assert model.facts.of("x").context_window == 8192
        assert {each.headers["authorization"] for each in endpoint.seen} == {f"Bearer {KEY}"}


async def test_an_endpoint_that_takes_the_key_in_the_other_header_gets_it_there() -> None:
    """401 to one header is asked once more with the other."""

    def models(request: Request) -> Any:
        refused = reply_json(401, {"error": "no"})
        return reply_json(200, vllm()["GET /v1/models"]) if "x-api-key" in request.headers else refused

    async with (
        serving(LocalEndpoint({"GET /v1/models": models})) as url,
        model_at(url, "Qwen/Qwen3-8B", api_key=KEY) as model,
    ):
        await model.inquire()

        assert model.facts.of("Qwen/Qwen3-8B").context_window == 40_960


async def test_without_a_key_none_is_sent() -> None:
    """Nor one of the environment."""
    endpoint = LocalEndpoint(llama())
    async with serving(endpoint) as url, model_at(url, "x") as model:
        await model.inquire()

    assert all(not {"authorization", "x-api-key"} & set(each.headers) for each in endpoint.seen)


async def test_a_redirect_is_not_followed() -> None:
    """The key would go elsewhere."""
    elsewhere = LocalEndpoint(llama())

    async with serving(elsewhere) as other:
        head = f"HTTP/1.1 307 Elsewhere\r\nlocation: {other}/v1/models\r\ncontent-length: 0\r\n\r\n".encode()
        endpoint = LocalEndpoint({"GET /v1/models": lambda _: [head], "GET /props": lambda _: [head]})
        async with serving(endpoint) as url, model_at(url, "x", api_key=KEY) as model:
            await model.inquire()

    assert elsewhere.seen == []
    assert model.facts.of("x") == NOTHING


def playing(*acts: Act) -> Callable[[Request], Sequence[Act]]:
    return lambda _: acts


USELESS: dict[str, Any] = {
    "nothing": 404,
    "no method": 405,
    "no right": 401,
    "HTML": b"<!doctype html><h1>It works!</h1>",
    "no JSON": b'{"data": [',
    "deep": b"[" * 50_000,
    "a list": b"[1, 2, 3]",
    "null": b"null",
    "NaN": b'{"default_generation_settings": {"n_ctx": NaN}, "total_slots": 1}',
    "empty": b"",
    "lies": {"default_generation_settings": {"n_ctx": 0}, "total_slots": -1, "modalities": [], "data": {}},
    "huge": b'{"data": ["' + b"x" * (endpoint_questions.MAX_ANSWER + 1) + b'"]}',
    "silent": None,
    "cut": playing(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{", Disconnect.CLOSE),
    "no HTTP": playing(b"SSH-2.0-OpenSSH_9.9\r\n\r\n"),
}


@pytest.mark.parametrize("what", USELESS)
async def test_an_answer_that_is_no_use_says_nothing_and_breaks_no_call(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To any of the questions: the model is called as if it had not been asked."""
    monkeypatch.setattr(endpoint_questions, "ANSWER_TIMEOUT", 0.2)
    questions = ("GET /v1/models", "GET /v1/models/x", "GET /props", "POST /api/show")
    told: dict[str, Any] = dict.fromkeys(questions, USELESS[what])
    endpoint = LocalEndpoint(told)
    async with serving(endpoint) as url, model_at(url, "x") as model:
        async with asyncio.timeout(TIMEOUT):
            await model.inquire()

        facts = model.facts.of("x")
        assert (facts.context_window, facts.max_output, model.facts.slots) in {
            (None, None, None),
            (None, None, 1),
        }
        assert model.facts.listed == ()
        assert await call(model, "x") == "hi"


async def test_slots_and_facts_stay_while_the_server_says_nothing_and_go_when_it_says_otherwise() -> None:
    """A question that fails leaves what was known; an answer without slots, or another server, does not."""
    told: dict[str, Any] = dict(llama(slots=2))
    async with serving(LocalEndpoint(told)) as url, model_at(url, "gemma3-270m") as model:
        await model.inquire()
        told["GET /props"] = 500
        await model.inquire()
        assert (model.facts.slots, model.facts.of("gemma3-270m").context_window) == (2, 8192)

        told["GET /props"] = llama(n_ctx=4096, slots=None)["GET /props"]
        await model.inquire()
        assert (model.facts.slots, model.facts.of("gemma3-270m").context_window) == (None, 4096)

        told.clear()
        told |= vllm("gemma3-270m", 32_768)
        await model.inquire()
        assert (model.facts.kind, model.facts.of("gemma3-270m")) == ("vllm", ModelFacts(32_768))
        assert model.facts.of("other") == NOTHING


async def test_a_restarted_server_is_asked_again() -> None:
    """After a call that could not reach it, the next success asks: it may have another context."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    async with model_at(url, "gemma3-270m") as model:
        model._inquiry._pause = 0.01  # pyright: ignore[reportPrivateUsage] - the pause of a minute
        watching = asyncio.create_task(model.watch())
        try:
            async with serving(LocalEndpoint(llama(n_ctx=8192)), port):
                await until(lambda: model.facts.of("gemma3-270m").context_window is None)
                assert await call(model) == "hi"
                await until(lambda: model.facts.of("gemma3-270m").context_window == 8192)
            with pytest.raises(ModelError):
                await call(model)
            async with serving(LocalEndpoint(llama(n_ctx=4096)), port):
                assert await call(model) == "hi"
                await until(lambda: model.facts.of("gemma3-270m").context_window == 4096)
        finally:
            watching.cancel()


async def test_a_model_that_was_not_known_is_asked_about() -> None:
    """One that a call named, which no setting does."""
    endpoint = LocalEndpoint(
        ollama(("gemma3:270m", "qwen3:8b"), running={"gemma3:270m": 8192, "qwen3:8b": 4096})
    )
    async with serving(endpoint) as url, model_at(url, "gemma3:270m") as model:
        model._inquiry._pause = 0.01  # pyright: ignore[reportPrivateUsage]
        watching = asyncio.create_task(model.watch())
        try:
            await until(lambda: model.facts.of("gemma3:270m").context_window == 8192)
            await call(model, "qwen3:8b")
            await until(lambda: model.facts.of("qwen3:8b").context_window == 4096)
        finally:
            watching.cancel()


async def test_a_quiet_endpoint_is_asked_once() -> None:
    """Calls that show nothing new ask nothing."""
    endpoint = LocalEndpoint(llama())
    async with serving(endpoint) as url, model_at(url, "gemma3-270m") as model:
        model._inquiry._pause = 0.01  # pyright: ignore[reportPrivateUsage]
        watching = asyncio.create_task(model.watch())
        try:
            await until(lambda: model.facts.slots == 1)
            for _ in range(3):
                await call(model)
            await asyncio.sleep(0.1)
        finally:
            watching.cancel()

    assert endpoint.paths() == ["GET /v1/models", "GET /props"]


async def test_a_name_that_stands_for_the_default_is_asked_for_by_its_own() -> None:
    """The endpoint was not up when the request was made: the call has the name that it lists."""
    found: list[str] = []
    endpoint = LocalEndpoint(llama("gemma3-270m"))
    async with (
        serving(endpoint) as url,
        model_at(url, "claude-sonnet-5-5", open_default="claude-sonnet-5-5", found=found.append) as model,
    ):
        await model.inquire()
        await call(model, "claude-sonnet-5-5")

    assert found == ["gemma3-270m"]
    assert endpoint.bodies[0]["model"] == "gemma3-270m"
    assert "GET /v1/models/claude-sonnet-5-5" not in endpoint.paths()


async def test_an_endpoint_that_comes_later_says_its_model_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for it; it is asked again until it is there, also while it is loading (503)."""
    monkeypatch.setattr(endpoint_inquiry, "FIRST_WAIT", 0.02)
    port, found = free_port(), list[str]()
    told: dict[str, Any] = {"GET /v1/models": 503}
    url = f"http://127.0.0.1:{port}"
    async with model_at(url, "c", open_default="c", found=found.append) as model:
        watching = asyncio.create_task(model.watch())
        try:
            await asyncio.sleep(0.05)
            async with serving(LocalEndpoint(told), port):
                await asyncio.sleep(0.1)
                assert found == []
                told |= llama()
                await until(lambda: found == ["gemma3-270m"])
        finally:
            watching.cancel()


async def test_words_that_a_model_calls_no_tools_are_kept() -> None:
    """Ollama's refusal: the next turn is asked without tools."""
    endpoint = LocalEndpoint({}, refuses=(400, "registry.ollama.ai/library/gemma3 does not support tools"))
    async with serving(endpoint) as url, model_at(url, "gemma3") as model:
        with pytest.raises(ModelError):
            await call(model, "gemma3")

        assert model.facts.of("gemma3").tools is False


@pytest.mark.parametrize("address", ["http://h:1/x?api-version=1", "http://h:1/#x", "https://h?"])
async def test_a_base_url_with_a_query_is_refused(address: str) -> None:
    """Paths are put behind it."""
    with pytest.raises(SettingsError, match="ANTHROPIC_BASE_URL must have no query"):
        AnthropicModel(base_url=address)


async def test_a_proxy_of_the_environment_that_is_not_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the endpoint cannot be reached, and only there."""
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example:3128")
    async with model_at(f"http://127.0.0.1:{free_port()}", "x") as model:
        with pytest.raises(ModelError, match="HTTP_PROXY is set and not used: set GATEWAY_MODEL_PROXY"):
            await call(model, "x")
    monkeypatch.delenv("HTTP_PROXY")
    async with model_at(f"http://127.0.0.1:{free_port()}", "x") as model:
        with pytest.raises(ModelError) as raised:
            await call(model, "x")
        assert "PROXY" not in str(raised.value)


def test_anthropics_own_address_is_known() -> None:
    """Nothing is asked there but its models; and what is near is a machine or network of one's own."""
    assert is_anthropics("https://api.anthropic.com")
    assert not is_anthropics("https://api.anthropic.com.example.org")
    assert [
        is_local(f"http://{host}") for host in ("127.0.0.1", "[::1]", "10.1.2.3", "gpu", "box.local")
    ] == [True] * 5
    assert not any(map(is_local, ("https://openrouter.ai/api", "http://8.8.8.8")))
