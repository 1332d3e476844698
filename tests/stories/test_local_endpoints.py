"""A gateway before a server for local models: it needs nothing but the address."""

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.app import build_app
from gateway.demo.demo_models import model_info
from tests.artifacts.files import png
from tests.harness import Client, running_gateway, settings_for, text_of, the
from tests.local_endpoint import LocalEndpoint, Told, llama, ollama, serving
from tests.loopback import TIMEOUT, free_port
from tests.product import load_settings

pytestmark = pytest.mark.anyio

PICTURE = {"name": "photo.png", "data": base64.b64encode(png(64, 48)).decode()}


@asynccontextmanager
async def gateway_at(url: str, tmp_path: Path, **given: Any) -> AsyncGenerator[Client]:
    """Before the endpoint at `url`, without a key and without a model's name."""
    settings = settings_for(tmp_path, url, **{"anthropic_api_key": None, **given})
    async with running_gateway(settings) as client:
        yield client


@asynccontextmanager
async def gateway_before(
    told: dict[str, Told], tmp_path: Path, **given: Any
) -> AsyncGenerator[tuple[Client, LocalEndpoint]]:
    endpoint = LocalEndpoint(told)
    async with serving(endpoint) as url, gateway_at(url, tmp_path, **given) as client:
        await known(client)
        yield client, endpoint


async def known(client: Client) -> dict[str, Any]:
    """What is known of the models, once the endpoint has been asked."""
    async with asyncio.timeout(TIMEOUT):
        while "endpoint" not in (found := (await client.get("/api/models")).json()):
            await asyncio.sleep(0.01)
    return found


async def test_the_one_model_that_is_listed_is_the_default(tmp_path: Path) -> None:
    """Every place says its name: turns, readiness, lists of models, who asks, what is sent."""
    async with gateway_before(llama("gemma3-270m"), tmp_path) as (client, endpoint):
        turn = await client.chat("/say hi")
        names = {
            "turn_start": the(turn, "turn_start")["model"],
            "iteration": the(turn, "iteration_start")["model"],
            "ready": (await client.get("/readyz")).json()["model"],
            "alive": (await client.get("/healthz")).json()["model"],
            "me": (await client.get("/api/me")).json()["models"],
            "listed": [each["id"] for each in (await client.get("/v1/models")).json()["data"]],
        }

    assert text_of(turn) == "hi"
    assert names == {
        **dict.fromkeys(("turn_start", "iteration", "ready", "alive"), "gemma3-270m"),
        "me": ["gemma3-270m"],
        "listed": ["gemma3-270m"],
    }
    assert endpoint.bodies[0]["model"] == "gemma3-270m"


async def test_what_the_endpoint_says_is_shown_with_who_says_it(tmp_path: Path) -> None:
    """Window, most output, images, PDFs, tools, slots; an answer asks for a quarter of a small window."""
    async with gateway_before(llama(n_ctx=8192, slots=2), tmp_path) as (client, endpoint):
        await client.chat("/say hi")
        found = await known(client)

    assert found == {
        "models": [
            {
                "id": "gemma3-270m",
                "is_default": True,
                "context_window": {"tokens": 8192, "source": "endpoint"},
                "max_output": {"tokens": 2048, "source": "endpoint"},
                "images": False,
                "pdfs": False,
                "tools": True,
            }
        ],
        "endpoint": "llama.cpp",
        "slots": 2,
        "notices": [],
    }
    assert endpoint.bodies[0]["max_tokens"] == 2048


async def test_settings_win_over_what_the_endpoint_says(tmp_path: Path) -> None:
    """The model's name, its window, the most output."""
    given = {"model": "mine", "context_window": 50_000, "max_tokens": 6000}
    async with gateway_before(llama(n_ctx=8192), tmp_path, **given) as (client, endpoint):
        await client.chat("/say hi")
        (model,) = (await known(client))["models"]

    assert model["id"] == endpoint.bodies[0]["model"] == "mine"
    assert model["context_window"] == {"tokens": 50_000, "source": "setting"}
    assert model["max_output"] == {"tokens": 6000, "source": "setting"}
    assert endpoint.bodies[0]["max_tokens"] == 6000


async def test_without_an_answer_everything_is_as_it_was(tmp_path: Path) -> None:
    """An endpoint that tells nothing: the usual model, its window by the price list, answers of 8,192."""
    endpoint = LocalEndpoint({})
    async with serving(endpoint) as url, gateway_at(url, tmp_path) as client:
        await client.chat("/say hi")
        found = (await client.get("/api/models")).json()

    (model,) = found["models"]
    assert model["id"] == "claude-sonnet-5-5"
    assert model["context_window"]["source"] == "price_list"
    assert model["max_output"] == {"tokens": 8192, "source": "assumed"}
    assert endpoint.bodies[0]["max_tokens"] == 8192


async def test_several_models_are_named_and_the_operator_told_to_choose(tmp_path: Path) -> None:
    """In readiness, in the list and in the words of a refusal; with GATEWAY_MODEL nothing is said."""
    told = ollama(("gemma3:270m", "qwen3:8b"))
    says = "The model's endpoint lists gemma3:270m, qwen3:8b: set GATEWAY_MODEL to one of them."
    async with gateway_before(told, tmp_path / "open") as (client, endpoint):
        endpoint.refuses = (404, "model 'claude-sonnet-5-5' not found")
        turn = await client.chat("/say hi")
        assert (await client.get("/readyz")).json()["notices"] == [says]
        assert (await known(client))["notices"] == [says]
        assert the(turn, "error")["message"].endswith(says)
    async with gateway_before(told, tmp_path / "set", model="qwen3:8b") as (client, _):
        assert "notices" not in (await client.get("/readyz")).json()


async def test_a_gateway_for_development_takes_the_first_that_is_loaded_and_says_so(tmp_path: Path) -> None:
    """What `gateway dev` passes."""
    told = llama("first")
    told["GET /v1/models"] = {
        "data": [
            {"id": name, "owned_by": "llamacpp", "status": {"value": state}}
            for name, state in (("first", "unloaded"), ("second", "loaded"), ("third", "loaded"))
        ]
    }
    async with serving(LocalEndpoint(told)) as url:
        settings = load_settings(data_dir=tmp_path, anthropic_base_url=url, log_level="error")
        app = build_app(settings, picks_model=True)
        async with app.router.lifespan_context(app), asyncio.timeout(TIMEOUT):
            while settings.model != "second":
                await asyncio.sleep(0.01)

    assert app.state.endpoint.choice == (
        "The model's endpoint lists first, second, third: second is taken; GATEWAY_MODEL sets another."
    )


async def test_an_endpoint_that_comes_later_gives_its_model_then(tmp_path: Path) -> None:
    """The gateway starts without it, says the name when it is known, and turns from before go on with it."""
    port = free_port()
    async with gateway_at(f"http://127.0.0.1:{port}", tmp_path, model_attempts=1) as client:
        session = await client.session()
        failed = await client.chat("/say early", session_id=session)
        endpoint = LocalEndpoint(llama("gemma3-270m"))
        async with serving(endpoint, port):
            found = await known(client)
            turn = await client.chat("/say late", session_id=session)

    assert the(failed, "done")["status"] == "failed"
    assert found["models"][0]["id"] == the(turn, "turn_start")["model"] == "gemma3-270m"
    assert text_of(turn) == "late"


async def test_an_image_is_not_sent_to_a_model_that_does_not_look_at_images(tmp_path: Path) -> None:
    """It is described in words, a warning says so once, and the answer comes."""
    async with gateway_before(llama(), tmp_path) as (client, endpoint):
        turn = await client.chat("/say seen", attachments=[PICTURE])

    kinds = {block["type"] for message in endpoint.bodies[0]["messages"] for block in message["content"]}
    assert kinds == {"text"}
    assert "do not look at files of this type" in str(endpoint.bodies[0])
    warning = the(turn, "warning")
    assert warning["code"] == "attachment_not_shown"
    assert "gemma3-270m does not look at images" in warning["message"]
    assert text_of(turn) == "seen"


async def test_an_image_is_sent_to_a_model_that_sees(tmp_path: Path) -> None:
    """As `modalities` says."""
    async with gateway_before(llama(modalities={"vision": True}), tmp_path) as (client, endpoint):
        turn = await client.chat("/say seen", attachments=[PICTURE])

    assert any(block["type"] == "image" for block in endpoint.bodies[0]["messages"][0]["content"])
    assert all(event["type"] != "warning" for event in turn)


@pytest.mark.parametrize(
    "told",
    [
        ollama(capabilities=["completion"], running={"gemma3:270m": 8192}),
        llama("gemma3:270m", chat_template_caps={"supports_tools": False}),
    ],
    ids=["Ollama", "llama.cpp"],
)
async def test_a_model_that_calls_no_tools_is_offered_none(told: dict[str, Told], tmp_path: Path) -> None:
    """Nor skills; one warning in a session says so, and every turn is answered."""
    async with gateway_before(told, tmp_path) as (client, endpoint):
        session = await client.session()
        first = await client.chat("/say one", session_id=session)
        second = await client.chat("/say two", session_id=session)
        sent = (await client.get(f"/api/sessions/{session}/turns/{first[0]['turn_id']}/prompt")).json()

    assert all("tools" not in body for body in endpoint.bodies)
    assert "skills" not in {part["name"] for part in sent["parts"]}
    warning = the(first, "warning")
    assert warning["code"] == "tools_not_offered"
    assert warning["message"].startswith("gemma3:270m calls no tools")
    assert all(event["type"] != "warning" for event in second)
    assert (text_of(first), text_of(second)) == ("one", "two")


async def test_a_model_that_refuses_tools_is_asked_without_them_from_then_on(tmp_path: Path) -> None:
    """Ollama's words for it, where it was not known before."""
    async with gateway_before(llama(chat_template_caps={}), tmp_path, model_attempts=1) as (client, endpoint):
        endpoint.refuses = (400, "gemma3 does not support tools")
        failed = await client.chat("/say one")
        endpoint.refuses = None
        turn = await client.chat("/say two")

    assert the(failed, "done")["status"] == "failed"
    assert "tools" in endpoint.bodies[0]
    assert "tools" not in endpoint.bodies[-1]
    assert text_of(turn) == "two"


async def test_a_model_that_is_to_be_retired_is_told_to_the_operator(tmp_path: Path) -> None:
    """In readiness and in the list."""
    about = {**(model_info("demo", None) or {}), "id": "old", "lifecycle": "deprecated"}
    told: dict[str, Told] = {
        "GET /v1/models": {"data": [{**about, "retires_at": "2027-02-01T00:00:00Z"}]},
    }
    async with gateway_before(told, tmp_path) as (client, _):
        ready, found = (await client.get("/readyz")).json(), await known(client)

    says = (
        "old is deprecated and is to be retired on 2027-02-01: choose another with GATEWAY_MODEL or "
        "GATEWAY_ALLOWED_MODELS."
    )
    assert ready["notices"] == found["notices"] == [says]
    assert (found["models"][0]["lifecycle"], found["models"][0]["retires_at"]) == ("deprecated", "2027-02-01")


async def test_what_a_session_sends_is_measured_with_the_endpoints_window(tmp_path: Path) -> None:
    """As the page's meter shows it."""
    async with gateway_before(llama(n_ctx=16_384), tmp_path) as (client, _):
        session = await client.session()
        turn = (await client.chat("/say hi", session_id=session))[0]["turn_id"]
        sent = (await client.get(f"/api/sessions/{session}/turns/{turn}/prompt")).json()

    assert sent["window"] == 16_384
